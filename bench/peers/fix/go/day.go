package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quickfixgo/quickfix"
)

// day plays a client's day at a venue that speaks as Deribit or as Binance does, found by the real
// one's names over TLS, as anybody would write it from the venue's documents. It prints a line for
// each step, "STEP: ok" or "STEP: what went wrong", and ends at the first that did.
func day(venue string) error {
	switch venue {
	case "deribit":
		return dayAtDeribit()
	case "binance":
		return dayAtBinance()
	}
	return fmt.Errorf("%s: deribit or binance", venue)
}

// fields are a message's in their order, groups as they came.
type fields [][2]string

func fieldsOf(message *quickfix.Message) fields { return parse(message.String()) }

func parse(message string) fields {
	var all fields
	for _, field := range strings.Split(message, "\x01") {
		if tag, value, found := strings.Cut(field, "="); found {
			all = append(all, [2]string{tag, value})
		}
	}
	return all
}

func (f fields) get(tag string) string {
	for _, field := range f {
		if field[0] == tag {
			return field[1]
		}
	}
	return ""
}

// has says whether these values are there: tag, value, tag, value.
func (f fields) has(pairs ...string) bool {
	for at := 0; at < len(pairs); at += 2 {
		if f.get(pairs[at]) != pairs[at+1] {
			return false
		}
	}
	return true
}

func (f fields) number(tag string) float64 {
	value, _ := strconv.ParseFloat(f.get(tag), 64)
	return value
}

// member is a session and what it has heard.
type member struct {
	id        quickfix.SessionID
	initiator *quickfix.Initiator
	heard     chan fields
	sign      func(logon *quickfix.Message)
}

func (*member) OnCreate(quickfix.SessionID)                       {}
func (m *member) OnLogon(quickfix.SessionID)                      { m.heard <- fields{{"35", "logon"}} }
func (m *member) OnLogout(quickfix.SessionID)                     { m.heard <- fields{{"35", "logout"}} }
func (*member) ToApp(*quickfix.Message, quickfix.SessionID) error { return nil }

func (m *member) ToAdmin(message *quickfix.Message, _ quickfix.SessionID) {
	if kind, _ := message.Header.GetString(35); kind == "A" {
		m.sign(message)
	}
}

func (m *member) FromAdmin(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	if all := fieldsOf(message); all.has("35", "3") {
		m.heard <- all
	}
	return nil
}

func (m *member) FromApp(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	m.heard <- fieldsOf(message)
	return nil
}

// ear hears a Logout in answer to a Logon, of which QuickFIX tells nobody but its log.
type ear struct{ *member }

func (e ear) Create() (quickfix.Log, error)                             { return e, nil }
func (e ear) CreateSessionLog(quickfix.SessionID) (quickfix.Log, error) { return e, nil }
func (ear) OnOutgoing([]byte)                                           {}
func (ear) OnEvent(string)                                              {}
func (ear) OnEventf(string, ...interface{})                             {}

func (e ear) OnIncoming(message []byte) {
	if all := parse(string(message)); all.has("35", "5") {
		e.heard <- all
	}
}

// logOn connects to host:port as this sender, and waits until the session is up.
func logOn(host, port, sender, target string, sign func(*quickfix.Message)) (*member, error) {
	text := "[DEFAULT]\nSocketConnectHost=" + host + "\nSocketConnectPort=" + port +
		"\nSocketUseSSL=Y\nSocketServerName=" + host +
		"\nHeartBtInt=30\nReconnectInterval=1\nResetOnLogon=Y\n[SESSION]\nBeginString=FIX.4.4" +
		"\nSenderCompID=" + sender + "\nTargetCompID=" + target + "\nConnectionType=initiator\n"
	settings, err := quickfix.ParseSettings(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	m := &member{
		id:    quickfix.SessionID{BeginString: "FIX.4.4", SenderCompID: sender, TargetCompID: target},
		heard: make(chan fields, 1<<16),
		sign:  sign,
	}
	m.initiator, err = quickfix.NewInitiator(m, quickfix.NewMemoryStoreFactory(), settings, ear{m})
	if err != nil {
		return nil, err
	}
	if err := m.initiator.Start(); err != nil {
		return nil, err
	}
	up, err := m.await("a session", func(f fields) bool { return f.has("35", "logon") || f.has("35", "5") })
	if err == nil && up.has("35", "5") {
		m.initiator.Stop()
		err = fmt.Errorf("refused: %s", up.get("58"))
	}
	return m, err
}

func (m *member) logOut() error {
	m.initiator.Stop()
	_, err := m.await("the end of the session", func(f fields) bool { return f.has("35", "logout") })
	return err
}

// say sends a message of these fields: tag, value, tag, value; groups in their order.
func (m *member) say(kind string, pairs ...string) error {
	message := quickfix.NewMessage()
	message.Header.SetString(35, kind)
	for at := 0; at < len(pairs); at += 2 {
		tag, _ := strconv.Atoi(pairs[at])
		message.Body.SetString(quickfix.Tag(tag), pairs[at+1])
	}
	return quickfix.SendToTarget(message, m.id)
}

// await takes what was heard up to the first message that is wanted.
func (m *member) await(what string, isWanted func(fields) bool) (fields, error) {
	deadline := time.After(20 * time.Second)
	for {
		select {
		case heard := <-m.heard:
			if isWanted(heard) {
				return heard, nil
			}
			if heard.has("35", "3") {
				return nil, fmt.Errorf("%s: refused: %s", what, heard.get("58"))
			}
		case <-deadline:
			return nil, fmt.Errorf("%s did not come within 20 s", what)
		}
	}
}

// ask sends a message and takes its answer.
func (m *member) ask(what, kind string, pairs []string, isWanted func(fields) bool) (fields, error) {
	if err := m.say(kind, pairs...); err != nil {
		return nil, err
	}
	return m.await(what, isWanted)
}

// report waits for an ExecutionReport with these values.
func (m *member) report(what string, pairs ...string) (fields, error) {
	return m.await(what, func(f fields) bool { return f.has("35", "8") && f.has(pairs...) })
}

// step prints how a step went; after one that failed nothing is done any more.
type steps struct{ failed error }

func (s *steps) do(name string, step func() error) {
	if s.failed != nil {
		return
	}
	if s.failed = step(); s.failed == nil {
		fmt.Printf("%s: ok\n", name)
	} else {
		fmt.Printf("%s: %v\n", name, s.failed)
	}
}

func get(url string, into any) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(into)
}

func text(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }
