// quickfixgo as a peer of taut: for tests (one side of a session) and for measuring (both sides).
//
//	fix-peer-go initiator PORT DICTIONARY
//	fix-peer-go acceptor DICTIONARY
//	fix-peer-go venue DICTIONARY
//	fix-peer-go reader PORT DICTIONARY
//	fix-peer-go bench COUNT DICTIONARY
//	fix-peer-go day deribit|binance
//
// One side of a session prints one line for what happens, the same lines as the other peers here:
// "listening PORT", "logon", "order ID", "again ID" (a possible duplicate), "heartbeat ID",
// "logout". The measurement prints one line of JSON.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/quickfixgo/quickfix"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 4 && os.Args[1] == "initiator":
		err = initiate(os.Args[2], os.Args[3])
	case len(os.Args) == 3 && os.Args[1] == "acceptor":
		err = accept(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "venue":
		err = trade(os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "reader":
		err = readDropCopy(os.Args[2], os.Args[3])
	case len(os.Args) == 4 && os.Args[1] == "bench":
		err = measure(os.Args[2], os.Args[3])
	case len(os.Args) == 3 && os.Args[1] == "day":
		err = day(os.Args[2])
	default:
		err = fmt.Errorf("initiator PORT DICTIONARY | acceptor DICTIONARY | venue DICTIONARY | " +
			"reader PORT DICTIONARY | bench COUNT DICTIONARY | day deribit|binance")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func settings(role, us, them, port, dictionary string) (*quickfix.Settings, error) {
	text := "[DEFAULT]\nSocketConnectHost=127.0.0.1\nSocketConnectPort=" + port +
		"\nSocketAcceptHost=127.0.0.1\nSocketAcceptPort=" + port +
		"\nHeartBtInt=30\nReconnectInterval=1\n[SESSION]\nBeginString=FIX.4.4\nSenderCompID=" + us +
		"\nTargetCompID=" + them + "\nConnectionType=" + role + "\n"
	if dictionary != "-" {
		text += "DataDictionary=" + dictionary + "\n"
	}
	return quickfix.ParseSettings(strings.NewReader(text))
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), nil
}

func order(number int) *quickfix.Message {
	message := quickfix.NewMessage()
	message.Header.SetString(35, "D")
	body := &message.Body
	body.SetString(11, fmt.Sprintf("order-%d", number))
	body.SetString(21, "1")
	body.SetString(38, "100")
	body.SetString(40, "1")
	body.SetString(54, "1")
	body.SetString(55, "BTC-USD")
	body.SetString(60, time.Now().UTC().Format("20060102-15:04:05.000"))
	return message
}

// story is an application that tells what happens.
type story struct {
	lines chan string
	then  func(id string, session quickfix.SessionID)
}

func (*story) OnCreate(quickfix.SessionID)                                       {}
func (s *story) OnLogon(quickfix.SessionID)                                      { s.lines <- "logon" }
func (s *story) OnLogout(quickfix.SessionID)                                     { s.lines <- "logout" }
func (*story) ToAdmin(*quickfix.Message, quickfix.SessionID)                     {}
func (*story) ToApp(message *quickfix.Message, session quickfix.SessionID) error { return nil }

func (s *story) FromAdmin(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	if kind, _ := message.Header.GetString(35); kind == "0" {
		if id, err := message.Body.GetString(112); err == nil {
			s.lines <- "heartbeat " + id
		}
	}
	return nil
}

func (s *story) FromApp(message *quickfix.Message, session quickfix.SessionID) quickfix.MessageRejectError {
	id, err := message.Body.GetString(11)
	if err != nil {
		return err
	}
	if again, _ := message.Header.GetBool(43); again {
		s.lines <- "again " + id
	} else {
		s.lines <- "order " + id
	}
	if s.then != nil {
		s.then(id, session)
	}
	return nil
}

// expect prints lines until this one came.
func (s *story) expect(line string) error {
	deadline := time.After(10 * time.Second)
	for {
		select {
		case said := <-s.lines:
			fmt.Println(said)
			if said == line {
				return nil
			}
		case <-deadline:
			return fmt.Errorf("no %q within 10 s", line)
		}
	}
}

func testRequest() *quickfix.Message {
	message := quickfix.NewMessage()
	message.Header.SetString(35, "1")
	message.Body.SetString(112, "PING")
	return message
}

func initiate(port, dictionary string) error {
	settings, err := settings("initiator", "GUEST", "HOST", port, dictionary)
	if err != nil {
		return err
	}
	app := &story{lines: make(chan string, 64)}
	initiator, err := quickfix.NewInitiator(app, quickfix.NewMemoryStoreFactory(), settings, quickfix.NewNullLogFactory())
	if err != nil {
		return err
	}
	if err := initiator.Start(); err != nil {
		return err
	}
	session := quickfix.SessionID{BeginString: "FIX.4.4", SenderCompID: "GUEST", TargetCompID: "HOST"}
	send := func(message *quickfix.Message, expected string) {
		if err == nil {
			err = quickfix.SendToTarget(message, session)
		}
		if err == nil {
			err = app.expect(expected)
		}
	}
	if err := app.expect("logon"); err != nil {
		return err
	}
	send(order(1), "order order-1")
	send(order(2), "order order-2")
	send(order(3), "order order-3")
	send(testRequest(), "heartbeat PING")
	if err != nil {
		return err
	}
	// As if the echoes had been lost: the next one is too high, and they come again. (The last
	// message may still be in work: its number is counted behind the callback.)
	time.Sleep(50 * time.Millisecond)
	if err = quickfix.SetNextTargetMsgSeqNum(session, 2); err != nil {
		return err
	}
	send(order(4), "order order-4")
	if err != nil {
		return err
	}
	// As if two messages of ours had been lost.
	sender, err := quickfix.GetExpectedSenderNum(session)
	if err != nil {
		return err
	}
	if err = quickfix.SetNextSenderMsgSeqNum(session, sender+2); err != nil {
		return err
	}
	send(order(5), "order order-5")
	if err != nil {
		return err
	}
	initiator.Stop()
	return app.expect("logout")
}

func accept(dictionary string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	settings, err := settings("acceptor", "HOST", "GUEST", port, dictionary)
	if err != nil {
		return err
	}
	app := &story{lines: make(chan string, 64)}
	isLossy := false
	app.then = func(id string, session quickfix.SessionID) {
		// As if messages had been lost both ways, once.
		if id == "order-2" && !isLossy {
			isLossy = true
			sender, _ := quickfix.GetExpectedSenderNum(session)
			quickfix.SetNextSenderMsgSeqNum(session, sender+2)
			quickfix.SetNextTargetMsgSeqNum(session, 1)
			quickfix.SendToTarget(testRequest(), session)
		}
		number, _ := strconv.Atoi(strings.TrimPrefix(id, "order-"))
		quickfix.SendToTarget(order(number), session)
	}
	acceptor, err := quickfix.NewAcceptor(app, quickfix.NewMemoryStoreFactory(), settings, quickfix.NewNullLogFactory())
	if err != nil {
		return err
	}
	if err := acceptor.Start(); err != nil {
		return err
	}
	fmt.Println("listening", port)
	if err := app.expect("logout"); err != nil {
		return err
	}
	// It is told of before the answer is sent.
	time.Sleep(200 * time.Millisecond)
	acceptor.Stop()
	return nil
}
