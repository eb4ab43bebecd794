package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/quickfixgo/quickfix"
)

const distinct = 4096

// venue answers each order with a report.
type venue struct {
	number int
}

func (*venue) OnCreate(quickfix.SessionID)                       {}
func (*venue) OnLogon(quickfix.SessionID)                        {}
func (*venue) OnLogout(quickfix.SessionID)                       {}
func (*venue) ToAdmin(*quickfix.Message, quickfix.SessionID)     {}
func (*venue) ToApp(*quickfix.Message, quickfix.SessionID) error { return nil }
func (*venue) FromAdmin(*quickfix.Message, quickfix.SessionID) quickfix.MessageRejectError {
	return nil
}

func (v *venue) FromApp(message *quickfix.Message, session quickfix.SessionID) quickfix.MessageRejectError {
	kind, err := message.Header.GetString(35)
	if err != nil || kind != "D" {
		return err
	}
	quickfix.SendToTarget(report(v.number), session)
	v.number++
	return nil
}

// client waits for one report at a time.
type client struct {
	venue
	up   chan struct{}
	back chan struct{}
}

func (c *client) OnLogon(quickfix.SessionID) { c.up <- struct{}{} }
func (c *client) FromApp(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	c.back <- struct{}{}
	return nil
}

// The orders and reports of `taut-bench fix`: 16 and 22 fields, about 174 and 228 bytes.
func price(number int) string {
	return fmt.Sprintf("%d.%02d", 100+(number*131%9973+1)/100, (number*131%9973+1)%100)
}

func common(body *quickfix.FieldMap, number int) {
	body.SetString(11, strconv.Itoa(1_000_000_000+number*7919%999_999_937))
	body.SetString(38, strconv.Itoa(100+number*37%900))
	body.SetString(40, "2")
	body.SetString(44, price(number))
	body.SetString(54, strconv.Itoa(1+number%2))
	body.SetString(55, "BTC-USD")
	at := time.UnixMilli(1_789_000_000_123 + int64(number%1000)).UTC()
	body.SetString(60, at.Format("20060102-15:04:05.000"))
}

func newOrder(number int) *quickfix.Message {
	number %= distinct
	message := quickfix.NewMessage()
	message.Header.SetString(35, "D")
	body := &message.Body.FieldMap
	body.SetString(1, "ACCT01")
	body.SetString(21, "1")
	body.SetString(59, "0")
	common(body, number)
	return message
}

func report(number int) *quickfix.Message {
	number %= distinct
	id := 1_000_000_000 + number*7919%999_999_937
	message := quickfix.NewMessage()
	message.Header.SetString(35, "8")
	body := &message.Body.FieldMap
	quantity := strconv.Itoa(100 + number*37%900)
	body.SetString(6, price(number))
	body.SetString(14, quantity)
	body.SetString(17, strconv.Itoa(id+7))
	body.SetString(31, price(number))
	body.SetString(32, quantity)
	body.SetString(37, strconv.Itoa(id+3))
	body.SetString(39, "2")
	body.SetString(150, "F")
	body.SetString(151, "0")
	common(body, number)
	return message
}

func measure(count, dictionary string) error {
	trips, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	theirs, err := settings("acceptor", "VENUE", "CLIENT", port, dictionary)
	if err != nil {
		return err
	}
	ours, err := settings("initiator", "CLIENT", "VENUE", port, dictionary)
	if err != nil {
		return err
	}
	stores, logs := quickfix.NewMemoryStoreFactory(), quickfix.NewNullLogFactory()
	acceptor, err := quickfix.NewAcceptor(&venue{}, stores, theirs, logs)
	if err != nil {
		return err
	}
	app := &client{up: make(chan struct{}, 1), back: make(chan struct{}, 1)}
	initiator, err := quickfix.NewInitiator(app, stores, ours, logs)
	if err != nil {
		return err
	}
	if err = acceptor.Start(); err != nil {
		return err
	}
	defer acceptor.Stop()
	if err = initiator.Start(); err != nil {
		return err
	}
	defer initiator.Stop()
	<-app.up
	session := quickfix.SessionID{BeginString: "FIX.4.4", SenderCompID: "CLIENT", TargetCompID: "VENUE"}
	spans := make([]int64, 0, trips)
	// The first eighth warms up and is not counted.
	for number := -trips / 8; number < trips; number++ {
		start := time.Now()
		if err = quickfix.SendToTarget(newOrder(number+trips), session); err != nil {
			return err
		}
		<-app.back
		if number >= 0 {
			spans = append(spans, time.Since(start).Nanoseconds())
		}
	}
	sort.Slice(spans, func(a, b int) bool { return spans[a] < spans[b] })
	at := func(share float64) int64 { return spans[int(share*float64(len(spans)-1))] }
	line, err := json.Marshal(map[string]any{
		"peer": "quickfixgo v0.9.7", "round_trips": trips,
		"rtt_ns": map[string]int64{"p50": at(0.5), "p99": at(0.99), "p999": at(0.999)},
	})
	fmt.Println(string(line))
	return err
}
