package main

import (
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/quickfixgo/quickfix"
)

// A FIX 4.4 venue for a gateway under test. What it does with an order follows from the quantity
// that the order has when it is new:
//
//	1  accepts and fills it
//	2  accepts it and fills it in two trades
//	3  rejects it
//	4  accepts it; it is changed and cancelled as is asked
//	5  accepts it; refuses to change it, and to cancel it: it has just been filled
//	6  accepts it and fills 2
//	7  accepts it; fills 3 as soon as the session is down
//	8  says nothing of it until it is asked where its orders stand
//	9  reports it pending, loses two messages, accepts and fills it
//
// It prints a line for what happens: "listening PORT", "logon", "logout", "order ID SIDE QUANTITY
// SYMBOL", "trade ID SIDE QUANTITY SYMBOL PRICE", "asked ID", "asked all" (where orders stand),
// "resend request" and "gap fill" of the gateway.
type gatewayVenue struct {
	mutex  sync.Mutex
	orders []*venueOrder
	execs  int
}

type venueOrder struct {
	id, previous, orderID, symbol, side, price string
	quantity, filled, habit                    int
	value                                      big.Rat // of what was filled
	isDone                                     bool
}

func (*gatewayVenue) OnCreate(quickfix.SessionID)                       {}
func (*gatewayVenue) OnLogon(quickfix.SessionID)                        { fmt.Println("logon") }
func (*gatewayVenue) ToAdmin(*quickfix.Message, quickfix.SessionID)     {}
func (*gatewayVenue) ToApp(*quickfix.Message, quickfix.SessionID) error { return nil }

func (v *gatewayVenue) OnLogout(session quickfix.SessionID) {
	fmt.Println("logout")
	// Not in the session's own goroutine, which holds its locks.
	go func() {
		v.mutex.Lock()
		defer v.mutex.Unlock()
		for _, order := range v.orders {
			if order.habit == 7 && order.filled == 0 && !order.isDone {
				v.fill(session, order, 3)
			}
		}
	}()
}

func (*gatewayVenue) FromAdmin(message *quickfix.Message, _ quickfix.SessionID) quickfix.MessageRejectError {
	switch kind, _ := message.Header.GetString(35); kind {
	case "2":
		fmt.Println("resend request")
	case "4":
		fmt.Println("gap fill")
	}
	return nil
}

func (v *gatewayVenue) FromApp(message *quickfix.Message, session quickfix.SessionID) quickfix.MessageRejectError {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	text := func(tag quickfix.Tag) string {
		value, _ := message.Body.GetString(tag)
		return value
	}
	switch kind, _ := message.Header.GetString(35); kind {
	case "D":
		quantity, err := message.Body.GetInt(38)
		if err != nil {
			return err
		}
		order := &venueOrder{
			id: text(11), orderID: fmt.Sprintf("V%d", len(v.orders)+1), symbol: text(55),
			side: text(54), price: text(44), quantity: quantity, habit: quantity,
		}
		v.orders = append(v.orders, order)
		fmt.Println("order", order.id, order.side, quantity, order.symbol)
		v.take(session, order)
	case "F":
		v.cancel(session, text(11), text(41))
	case "G":
		quantity, err := message.Body.GetInt(38)
		if err != nil {
			return err
		}
		v.replace(session, text(11), text(41), quantity, text(44))
	case "H":
		fmt.Println("asked", text(11))
		v.tell(session, text(11), text(55), text(54))
	case "AF":
		fmt.Println("asked all")
		v.tellAll(session, text(584))
	default:
		return quickfix.UnsupportedMessageType()
	}
	return nil
}

func (v *gatewayVenue) take(session quickfix.SessionID, order *venueOrder) {
	switch order.habit {
	case 3:
		order.isDone = true
		refusal := v.report(order, "8", "8")
		refusal.Body.SetInt(103, 99)
		refusal.Body.SetString(58, "not today")
		send(refusal, session)
		return
	case 8:
		return
	case 9:
		send(v.report(order, "A", "A"), session)
		if next, err := quickfix.GetExpectedSenderNum(session); err == nil {
			quickfix.SetNextSenderMsgSeqNum(session, next+2)
		}
	}
	send(v.report(order, "0", "0"), session)
	switch order.habit {
	case 1, 9:
		v.fill(session, order, order.quantity)
	case 2:
		v.fill(session, order, 1)
		v.fill(session, order, 1)
	case 6:
		v.fill(session, order, 2)
	}
}

func (v *gatewayVenue) fill(session quickfix.SessionID, order *venueOrder, quantity int) {
	order.filled += quantity
	price, _ := new(big.Rat).SetString(order.price)
	order.value.Add(&order.value, price.Mul(price, new(big.Rat).SetInt64(int64(quantity))))
	order.isDone = order.filled >= order.quantity
	trade := v.report(order, "F", order.status())
	trade.Body.SetInt(32, quantity)
	trade.Body.SetString(31, order.price)
	fmt.Println("trade", order.id, order.side, quantity, order.symbol, order.price)
	send(trade, session)
}

func (v *gatewayVenue) cancel(session quickfix.SessionID, id, original string) {
	order := v.find(original)
	if order == nil || order.isDone {
		v.refuse(session, order, id, original, "1")
		return
	}
	if order.habit == 5 {
		v.fill(session, order, order.quantity-order.filled)
		v.refuse(session, order, id, original, "1")
		return
	}
	order.isDone = true
	order.id, order.previous = id, original
	send(v.report(order, "4", "4"), session)
}

func (v *gatewayVenue) replace(session quickfix.SessionID, id, original string, quantity int, price string) {
	order := v.find(original)
	if order == nil || order.isDone || order.habit == 5 || quantity <= order.filled {
		v.refuse(session, order, id, original, "2")
		return
	}
	order.id, order.previous, order.quantity, order.price = id, original, quantity, price
	send(v.report(order, "5", order.status()), session)
}

// refuse sends an OrderCancelReject: too late, or of an order that is unknown.
func (v *gatewayVenue) refuse(session quickfix.SessionID, order *venueOrder, id, original, responseTo string) {
	reject := quickfix.NewMessage()
	reject.Header.SetString(35, "9")
	orderID, status, reason := "NONE", "8", 1
	if order != nil {
		orderID, status, reason = order.orderID, order.status(), 0
	}
	reject.Body.SetString(37, orderID)
	reject.Body.SetString(11, id)
	reject.Body.SetString(41, original)
	reject.Body.SetString(39, status)
	reject.Body.SetString(434, responseTo)
	reject.Body.SetInt(102, reason)
	send(reject, session)
}

// tell answers an OrderStatusRequest.
func (v *gatewayVenue) tell(session quickfix.SessionID, id, symbol, side string) {
	order := v.find(id)
	if order != nil {
		send(v.report(order, "I", order.status()), session)
		return
	}
	unknown := v.report(&venueOrder{id: id, orderID: "NONE", symbol: symbol, side: side}, "I", "8")
	unknown.Body.SetInt(103, 5)
	send(unknown, session)
}

// tellAll answers an OrderMassStatusRequest: a report for each open order, or one that there is none.
func (v *gatewayVenue) tellAll(session quickfix.SessionID, request string) {
	var reports []*quickfix.Message
	for _, order := range v.orders {
		if !order.isDone {
			reports = append(reports, v.report(order, "I", order.status()))
		}
	}
	total := len(reports)
	if total == 0 {
		none := &venueOrder{orderID: "NONE", symbol: "[N/A]", side: "1"}
		reports = append(reports, v.report(none, "I", "8"))
	}
	for at, report := range reports {
		report.Body.SetString(584, request)
		report.Body.SetInt(911, total)
		report.Body.SetBool(912, at == len(reports)-1)
		send(report, session)
	}
}

func (v *gatewayVenue) find(id string) *venueOrder {
	for _, order := range v.orders {
		if order.id == id || order.previous == id {
			return order
		}
	}
	return nil
}

func (o *venueOrder) status() string {
	switch {
	case o.filled >= o.quantity:
		return "2"
	case o.isDone && o.habit == 3:
		return "8"
	case o.isDone:
		return "4"
	case o.filled > 0:
		return "1"
	default:
		return "0"
	}
}

func (v *gatewayVenue) report(order *venueOrder, execType, status string) *quickfix.Message {
	v.execs++
	average, leaves := new(big.Rat), 0
	if order.filled > 0 {
		average.Quo(&order.value, new(big.Rat).SetInt64(int64(order.filled)))
	}
	if !order.isDone {
		leaves = order.quantity - order.filled
	}
	report := quickfix.NewMessage()
	report.Header.SetString(35, "8")
	body := &report.Body
	body.SetString(37, order.orderID)
	body.SetString(17, fmt.Sprintf("E%d", v.execs))
	if execType == "I" {
		body.SetString(17, "0")
	}
	if order.id != "" {
		body.SetString(11, order.id)
	}
	if order.previous != "" && (execType == "4" || execType == "5") {
		body.SetString(41, order.previous)
	}
	body.SetString(150, execType)
	body.SetString(39, status)
	body.SetString(55, order.symbol)
	body.SetString(54, order.side)
	body.SetInt(38, order.quantity)
	if order.price != "" {
		body.SetString(44, order.price)
	}
	body.SetInt(151, leaves)
	body.SetInt(14, order.filled)
	body.SetString(6, average.FloatString(9))
	body.SetString(60, time.Now().UTC().Format("20060102-15:04:05.000"))
	return report
}

func send(message *quickfix.Message, session quickfix.SessionID) {
	if err := quickfix.SendToTarget(message, session); err != nil {
		fmt.Println("not sent:", err)
	}
}

// trade is a venue until it is killed: the gateway may come and go.
func trade(dictionary string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	settings, err := settings("acceptor", "QUICKFIX", "GATEWAY", port, dictionary)
	if err != nil {
		return err
	}
	acceptor, err := quickfix.NewAcceptor(&gatewayVenue{}, quickfix.NewMemoryStoreFactory(), settings, quickfix.NewNullLogFactory())
	if err != nil {
		return err
	}
	if err := acceptor.Start(); err != nil {
		return err
	}
	fmt.Println("listening", port)
	select {}
}
