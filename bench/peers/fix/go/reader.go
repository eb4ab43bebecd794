package main

import (
	"fmt"

	"github.com/quickfixgo/quickfix"
)

// reader takes drop copies. It prints "logon", "logout", "resend request" and "gap fill" of the
// gateway, and for each ExecutionReport "report EXECID EXECTYPE SECONDARYCLORDID SYMBOL SIDE LASTQTY LASTPX
// CUMQTY AVGPX TEXT", or "again ..." for a possible duplicate.
type reader struct{}

func (*reader) OnCreate(quickfix.SessionID)                       {}
func (*reader) OnLogon(quickfix.SessionID)                        { fmt.Println("logon") }
func (*reader) OnLogout(quickfix.SessionID)                       { fmt.Println("logout") }
func (*reader) ToAdmin(*quickfix.Message, quickfix.SessionID)     {}
func (*reader) ToApp(*quickfix.Message, quickfix.SessionID) error { return nil }

func (*reader) FromAdmin(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	switch kind, _ := message.Header.GetString(35); kind {
	case "2":
		fmt.Println("resend request")
	case "4":
		fmt.Println("gap fill")
	}
	return nil
}

func (*reader) FromApp(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	kind, _ := message.Header.GetString(35)
	if kind != "8" {
		fmt.Println("other", kind)
		return nil
	}
	word := "report"
	if again, _ := message.Header.GetBool(43); again {
		word = "again"
	}
	fmt.Print(word)
	for _, tag := range []quickfix.Tag{17, 150, 526, 55, 54, 32, 31, 14, 6, 58} {
		value, err := message.Body.GetString(tag)
		if err != nil {
			value = "-"
		}
		fmt.Print(" ", value)
	}
	fmt.Println()
	return nil
}

// readDropCopy reads until it is killed: the gateway may come and go.
func readDropCopy(port, dictionary string) error {
	settings, err := settings("initiator", "RISK", "GATEWAY", port, dictionary)
	if err != nil {
		return err
	}
	initiator, err := quickfix.NewInitiator(&reader{}, quickfix.NewMemoryStoreFactory(), settings, quickfix.NewNullLogFactory())
	if err != nil {
		return err
	}
	if err := initiator.Start(); err != nil {
		return err
	}
	select {}
}
