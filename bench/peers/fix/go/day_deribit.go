package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/quickfixgo/quickfix"
)

const perpetual = "BTC-PERPETUAL"

// credentials of Deribit: the password is the hash of the raw data and the secret.
func deribitLogon(id, secret string) func(*quickfix.Message) {
	return func(logon *quickfix.Message) {
		nonce := make([]byte, 32)
		rand.Read(nonce)
		raw := fmt.Sprintf("%d.%s", time.Now().UnixMilli(), base64.StdEncoding.EncodeToString(nonce))
		hash := sha256.Sum256([]byte(raw + secret))
		logon.Body.SetInt(95, len(raw))
		logon.Body.SetString(96, raw)
		logon.Body.SetString(553, id)
		logon.Body.SetString(554, base64.StdEncoding.EncodeToString(hash[:]))
		logon.Body.SetString(9015, "Y")
	}
}

// book is what W and X say: sizes by price, for bids (0) and offers (1).
type book map[string]map[string]string

// take applies a message's entries; those of W begin anew.
func (b book) take(message fields) {
	if message.has("35", "W") {
		b["0"], b["1"] = map[string]string{}, map[string]string{}
	}
	action, entry, price := "0", "", ""
	for _, field := range message {
		switch field[0] {
		case "279":
			action = field[1]
		case "269":
			entry = field[1]
		case "270":
			price = field[1]
		case "271":
			if entry != "0" && entry != "1" {
				continue
			}
			if action == "2" {
				delete(b[entry], price)
			} else {
				b[entry][price] = field[1]
			}
		}
	}
}

func (b book) best(entry string, sign float64) float64 {
	best := 0.0
	for price := range b[entry] {
		number, _ := strconv.ParseFloat(price, 64)
		if best == 0 || sign*number > sign*best {
			best = number
		}
	}
	return best
}

func dayAtDeribit() error {
	var one *member
	var s steps
	own := book{}
	kept := map[string]string{} // names of orders
	s.do("logon", func() (err error) {
		one, err = logOn("fix.deribit.com", "9883", "QUICKFIX", "DERIBITSERVER", deribitLogon("one", "secret-of-one"))
		return err
	})
	s.do("logon_refused", func() error {
		_, err := logOn("test.deribit.com", "9883", "STRANGER", "DERIBITSERVER", deribitLogon("one", "wrong"))
		if err == nil || err.Error() != "refused: invalid_credentials" {
			return fmt.Errorf("a stranger's Logon: %v", err)
		}
		return nil
	})
	s.do("load_markets", func() error {
		list, err := one.ask("the instruments", "x", []string{"320", "s", "559", "4"}, func(f fields) bool { return f.has("35", "y") })
		if err == nil && !list.has("146", strconv.Itoa(count(list, "55"))) {
			return fmt.Errorf("146=%s, and there are %d symbols", list.get("146"), count(list, "55"))
		}
		return err
	})
	// A snapshot and its changes, then a snapshot by itself: all come in one order, so that both
	// are the exchange's book at one moment.
	s.do("watch_book", func() error {
		isBook := func(f fields) bool { return f.has("262", "follow") }
		first, err := one.askBook("follow", "1", "0", "1", isBook)
		if err != nil {
			return err
		}
		own.take(first)
		for changes := 0; changes < 50; changes++ {
			change, err := one.await("changes of the book", isBook)
			if err != nil {
				return err
			}
			own.take(change)
		}
		whole := book{}
		isWhole := func(f fields) bool {
			if isBook(f) {
				own.take(f)
			}
			return f.has("262", "whole")
		}
		snapshot, err := one.askBook("whole", "0", "0", "", isWhole)
		if err != nil {
			return err
		}
		whole.take(snapshot)
		if !maps.Equal(own["0"], whole["0"]) || !maps.Equal(own["1"], whole["1"]) {
			return fmt.Errorf("after 50 changes the book is another than the snapshot")
		}
		return one.say("V", "262", "follow", "263", "2", "267", "1", "269", "0")
	})
	place := func(name, side string, contracts int, price float64) (fields, error) {
		terms := []string{"11", name, "54", side, "38", strconv.Itoa(contracts), "44", text(price), "40", "2", "55", perpetual}
		report, err := one.ask("an answer to an order", "D", terms, func(f fields) bool { return f.has("35", "8", "41", name, "150", "I") })
		if err == nil {
			kept[name] = report.get("11")
		}
		return report, err
	}
	s.do("create", func() error {
		report, err := place("resting", "1", 20, own.best("0", 1)-1_000)
		if err == nil && !report.has("39", "0", "151", "20", "14", "0") {
			err = fmt.Errorf("%v", report)
		}
		return err
	})
	s.do("partial_fill", func() error {
		for tries := 0; tries < 40; tries++ {
			name := fmt.Sprintf("taker-%d", tries)
			best, err := one.askBook("best", "0", "1", "", func(f fields) bool { return f.has("262", "best") })
			if err != nil {
				return err
			}
			now := book{}
			now.take(best)
			report, err := place(name, "1", 500, now.best("1", -1))
			if err != nil {
				return err
			}
			filled := report.number("14")
			if report.has("39", "1") && filled > 0 && filled < 500 {
				trade, err := one.report("a report of the trade", "41", name, "150", "F")
				if err != nil {
					return err
				}
				if trade.number("32") <= 0 || trade.get("880") == "" {
					return fmt.Errorf("%v", trade)
				}
				return one.say("F", "41", kept[name])
			}
			one.say("F", "41", kept[name])
		}
		return fmt.Errorf("no order was filled in part")
	})
	s.do("edit", func() error {
		price := text(own.best("0", 1) - 1_100)
		terms := []string{"41", kept["resting"], "11", "resting", "38", "30", "44", price, "54", "1", "55", perpetual}
		report, err := one.ask("an answer to a change", "G", terms, func(f fields) bool { return f.has("35", "8", "41", "resting") })
		if err == nil && !report.has("39", "0", "38", "30", "44", price) {
			err = fmt.Errorf("%v", report)
		}
		return err
	})
	open := func() (map[string]bool, error) {
		names := map[string]bool{}
		isOf := func(f fields) bool { return f.has("35", "8", "584", "all") }
		report, err := one.ask("the open orders", "AF", []string{"584", "all", "585", "7"}, isOf)
		for err == nil {
			if report.get("911") != "0" {
				names[report.get("41")] = true
			}
			if report.has("912", "Y") {
				break
			}
			report, err = one.await("the rest of the open orders", isOf)
		}
		return names, err
	}
	s.do("orders", func() error {
		names, err := open()
		if err == nil && !names["resting"] {
			err = fmt.Errorf("the order is not among %v", names)
		}
		return err
	})
	s.do("refused", func() error {
		_, err := one.ask("a refusal", "F", []string{"41", "80000999999"}, func(f fields) bool { return f.has("35", "9", "102", "1", "434", "1") })
		return err
	})
	s.do("balance", func() error {
		account, err := one.ask("the account", "BE", []string{"923", "me", "924", "4", "553", "one", "15", "BTC"}, func(f fields) bool { return f.has("35", "BF", "923", "me") })
		if err == nil && account.number("100001") <= 0 {
			err = fmt.Errorf("%v", account)
		}
		return err
	})
	s.do("positions", func() error {
		positions, err := one.ask("the positions", "AN", []string{"710", "p", "724", "0"}, func(f fields) bool { return f.has("35", "AP", "710", "p") })
		if err == nil && !(positions.has("702", "1", "55", perpetual) && positions.number("704") > 0) {
			err = fmt.Errorf("%v", positions)
		}
		return err
	})
	s.do("reconnect", func() (err error) {
		if err = one.logOut(); err == nil {
			one, err = logOn("fix.deribit.com", "9883", "QUICKFIX", "DERIBITSERVER", deribitLogon("one", "secret-of-one"))
		}
		return err
	})
	s.do("reconcile", func() error {
		names, err := open()
		if err == nil && (len(names) != 1 || !names["resting"]) {
			err = fmt.Errorf("open: %v", names)
		}
		return err
	})
	s.do("cancel", func() error {
		report, err := one.ask("an answer to a cancel", "F", []string{"41", kept["resting"]}, func(f fields) bool { return f.has("35", "8", "41", "resting") })
		if err == nil && !report.has("39", "4", "151", "0") {
			err = fmt.Errorf("%v", report)
		}
		return err
	})
	s.do("cancel_all", func() error {
		for _, name := range []string{"a", "b"} {
			if _, err := place(name, "1", 10, own.best("0", 1)-1_000); err != nil {
				return err
			}
		}
		report, err := one.ask("an answer to a mass cancel", "q", []string{"11", "m", "530", "7"}, func(f fields) bool { return f.has("35", "r") })
		if err == nil && !report.has("531", "7", "533", "2") {
			err = fmt.Errorf("%v", report)
		}
		return err
	})
	s.do("logout", func() error { return one.logOut() })
	return s.failed
}

// askBook asks for the perpetual's bids and offers: what for, how deep, and how it is told.
func (m *member) askBook(id, kind, depth, update string, isWanted func(fields) bool) (fields, error) {
	message := quickfix.NewMessage()
	message.Header.SetString(35, "V")
	body := &message.Body
	body.SetString(262, id)
	body.SetString(263, kind)
	body.SetString(264, depth)
	if update != "" {
		body.SetString(265, update)
	}
	entries := quickfix.NewRepeatingGroup(267, quickfix.GroupTemplate{quickfix.GroupElement(269)})
	for _, entry := range []string{"0", "1"} {
		entries.Add().SetString(269, entry)
	}
	body.SetGroup(entries)
	symbols := quickfix.NewRepeatingGroup(146, quickfix.GroupTemplate{quickfix.GroupElement(55)})
	symbols.Add().SetString(55, perpetual)
	body.SetGroup(symbols)
	if err := quickfix.SendToTarget(message, m.id); err != nil {
		return nil, err
	}
	return m.await("the book", isWanted)
}

func count(message fields, tag string) int {
	number := 0
	for _, field := range message {
		if field[0] == tag {
			number++
		}
	}
	return number
}
