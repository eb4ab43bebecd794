//! Orders, their changes and their ends.

use super::*;

#[test]
fn an_order_is_written_with_the_venues_words_and_time() {
    let mut line = Line::up();
    line.pass(Nanos::from_millis(1_500));
    let place = concat!(
        r#""order.place","params":{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","#,
        r#""timeInForce":"GTC","quantity":"0.003","price":"43000.5","newClientOrderId":"{1}","#,
        r#""newOrderRespType":"ACK","recvWindow":2000,"timestamp":1700000001500}}"#
    );
    assert_eq!(line.create(&terms()).as_deref(), Ok(place));
    let written = |terms: OrderTerms, settings: BinanceOrderSettings| {
        Line::up_with(settings).create(&terms).unwrap()
    };
    let settings = BinanceOrderSettings::default;
    let post_only = OrderTerms { flags: OrderFlags::POST_ONLY, ..terms() };
    let text = written(post_only, settings());
    assert!(text.contains(r#""type":"LIMIT_MAKER","quantity""#), "{text}");
    let market = OrderTerms { order_type: OrderType::Market, ..terms() };
    let text = written(market, settings());
    assert!(text.contains(r#""type":"MARKET","quantity":"0.003","newClient"#), "{text}");
    let iceberg = OrderTerms {
        lots_shown: Lots(1),
        time_in_force: TimeInForce::ImmediateOrCancel,
        ..terms()
    };
    let own = BinanceOrderSettings {
        self_trade: taut_order_entry::binance::SelfTrade::ExpireTaker,
        ..settings()
    };
    let text = written(iceberg, own);
    assert!(text.contains(r#""timeInForce":"IOC""#), "{text}");
    assert!(text.contains(r#""icebergQty":"0.001""#), "{text}");
    assert!(text.contains(r#""selfTradePreventionMode":"EXPIRE_TAKER""#), "{text}");
    for unknown in [
        OrderTerms { time_in_force: TimeInForce::Day, ..terms() },
        OrderTerms { flags: OrderFlags::REDUCE_ONLY, ..terms() },
    ] {
        assert_eq!(Line::up().create(&unknown), Err(NotSent::Unsupported));
    }
}

#[test]
fn what_the_filters_refuse_does_not_leave() {
    for wrong in [
        at(100_001, 1),                                             // above the highest price
        at(43_000, 10_001),                                         // above the largest quantity
        at(1, 1),          // worth less than the smallest order
        at(99_000, 1_000), // worth more than the largest
        OrderTerms { price: Price(43_000_005_000_000), ..terms() }, // between two ticks
    ] {
        assert_eq!(Line::up().create(&wrong), Err(NotSent::Filtered), "{wrong:?}");
    }
    for stop in [Price(100_000_010_000_000), Price(43_000_005_000_000)] {
        let wrong = OrderTerms { stop_price: Some(stop), ..terms() };
        assert_eq!(Line::up().create(&wrong), Err(NotSent::Filtered), "{stop}");
        let market = OrderTerms { order_type: OrderType::Market, ..wrong };
        assert_eq!(Line::up().create(&market), Err(NotSent::Filtered), "{stop}");
    }
    let market = OrderTerms { order_type: OrderType::Market, ..at(0, 5_001) };
    assert_eq!(Line::up().create(&market), Err(NotSent::Filtered));
    // Two orders may be open.
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let (instrument, terms) = (bitcoin(), terms());
    let mut create = |number| {
        let request = RequestId::create(ClientOrderId(number));
        let (instrument, terms) = (&instrument, &terms);
        let order = OrderMessage { request, instrument, account: None, terms };
        let left = line.handler.create(START, &order, false);
        line.handler.clear_unsent();
        left
    };
    assert_eq!((create(8), create(9)), (Ok(()), Err(NotSent::Filtered)));
    line.handler.over(ORDER);
    assert!(line.handler.trading.symbols.has_room(InstrumentId(0)));
}

#[test]
fn an_order_is_accepted_by_whichever_comes_first() {
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let accepted = only(line.answer(ACK));
    assert_eq!(accepted.event, Some(OrderEvent::Accepted));
    assert_eq!(
        (accepted.request, accepted.venue_id.unwrap().as_bytes()),
        (Some(request(1)), &b"42"[..])
    );
    let new = line.event("NEW", ["{1}", ""], "NEW", "0");
    assert_eq!(said(&new), [Some(OrderEvent::Status(OrderState::Working))]);

    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let events = line.trade("{1}", 9, "0.00100000", "0.00100000", "PARTIALLY_FILLED");
    assert_eq!(said(&events), [Some(OrderEvent::Accepted), Some(OrderEvent::Traded)]);
    let VenueEvent::Report(trade) = events[1] else { panic!() };
    assert_eq!((trade.last, trade.total), (Qty { mantissa: 100_000, decimals: 8 }, qty(100_000)));
    assert_eq!(trade.price, Some(Price(43_000_250_000_000)));
    assert_eq!(trade.exec_id, ExecId::new(b"BTCUSDT-9"));
    assert_eq!(trade.charges.commission, Some(Price(1_200)));
    assert_eq!(line.answer(ACK), []);
}

#[test]
fn an_order_that_ends_by_its_own_terms_or_is_refused_is_over() {
    let mut line = Line::resting(None);
    assert_eq!(
        said(&line.event("EXPIRED", ["{1}", ""], "EXPIRED", "0")),
        [Some(OrderEvent::Expired)]
    );
    let mut line = Line::resting(None);
    let prevented = line.event("TRADE_PREVENTION", ["{1}", ""], "EXPIRED_IN_MATCH", "0");
    assert_eq!(said(&prevented), [Some(OrderEvent::Expired)]);
    let mut line = Line::up();
    line.create(&terms()).unwrap();
    let refused = line.fails(400, r#""code":-2010,"msg":"Account has insufficient balance.""#);
    let message = line.handler.last_message();
    let (named, reject) = (Some(request(1)), VenueReject::Balance);
    assert_eq!(refused, [VenueEvent::Refused { message, named, reject }]);
}

#[test]
fn a_modify_of_an_untraded_order_replaces_it_only_if_it_still_is() {
    let mut line = Line::resting(None);
    let replace = line.modify(1, 2, &at(43_001, 4)).unwrap();
    let expected = concat!(
        r#""order.cancelReplace","params":{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","#,
        r#""timeInForce":"GTC","quantity":"0.004","price":"43001","newClientOrderId":"{2}","#,
        r#""newOrderRespType":"ACK","cancelReplaceMode":"STOP_ON_FAILURE","#,
        r#""cancelOrderId":42,"cancelNewClientOrderId":"{2}-R","cancelRestrictions":"ONLY_NEW","#,
        r#""recvWindow":2000,"timestamp":1700000000000}}"#
    );
    assert_eq!(replace, expected);
    // The end of the old one is none of ours.
    assert_eq!(line.event("CANCELED", ["{2}-R", "{1}"], "CANCELED", "0"), []);
    let done = concat!(
        r#"{"cancelResult":"SUCCESS","newOrderResult":"SUCCESS","#,
        r#""cancelResponse":{"symbol":"BTCUSDT","orderId":42,"origClientOrderId":"{1}"},"#,
        r#""newOrderResponse":{"symbol":"BTCUSDT","orderId":43,"clientOrderId":"{2}"}}"#
    );
    let replaced = only(line.answer(done));
    assert_eq!((replaced.request, replaced.event), (Some(request(2)), Some(OrderEvent::Replaced)));
    assert_eq!(replaced.venue_id.unwrap().as_bytes(), b"43");
    // What follows is of the new one.
    let cancel = line.cancel(2, 3).unwrap();
    assert!(cancel.contains(r#""orderId":43,"newClientOrderId":"{3}""#), "{cancel}");
}

/// All of the order as it was may have traded then: the trades count in the one after it.
#[test]
fn a_replacement_that_trades_before_its_answer_is_in_place_first() {
    let mut line = Line::resting(None);
    line.modify(1, 2, &at(43_001, 4)).unwrap();
    assert_eq!(line.event("CANCELED", ["{2}-R", "{1}"], "CANCELED", "0"), []);
    let events = line.trade("{2}", 10, "0.003", "0.003", "PARTIALLY_FILLED");
    assert_eq!(said(&events), [Some(OrderEvent::Replaced), Some(OrderEvent::Traded)]);
    assert_eq!(only(events[..1].to_vec()).request, Some(request(2)));
    assert_eq!(only(events[1..].to_vec()).told, Some(OrderState::Working));
    let done = concat!(
        r#"{"cancelResult":"SUCCESS","newOrderResult":"SUCCESS","#,
        r#""cancelResponse":{"symbol":"BTCUSDT","orderId":42,"origClientOrderId":"{1}"},"#,
        r#""newOrderResponse":{"symbol":"BTCUSDT","orderId":43,"clientOrderId":"{2}"}}"#
    );
    assert_eq!(line.answer(done), []);
}

#[test]
fn an_order_that_becomes_smaller_keeps_its_place() {
    let mut line = Line::resting(Some("0.00100000"));
    let amend = line.modify(1, 2, &OrderTerms { lots: Lots(2), ..terms() }).unwrap();
    let expected = concat!(
        r#""order.amend.keepPriority","params":{"symbol":"BTCUSDT","orderId":42,"#,
        r#""newClientOrderId":"{2}","newQty":"0.002","recvWindow":2000,"#,
        r#""timestamp":1700000000000}}"#
    );
    assert_eq!(amend, expected);
    let event = line.event("REPLACED", ["{2}", "{1}"], "PARTIALLY_FILLED", "0.001");
    assert_eq!(said(&event), [Some(OrderEvent::Status(OrderState::Working))]);
    let amended = r#"{"executionId":5,"amendedOrder":{"orderId":42,"clientOrderId":"{2}"}}"#;
    let replaced = only(line.answer(amended));
    assert_eq!((replaced.request, replaced.event), (Some(request(2)), Some(OrderEvent::Replaced)));
    let event = line.trade("{2}", 10, "0.001", "0.002", "FILLED");
    assert_eq!(said(&event), [Some(OrderEvent::Traded)]);
    assert_eq!(only(event).total, qty(200_000));

    let mut line = Line::resting(None);
    line.modify(1, 2, &OrderTerms { lots: Lots(2), ..terms() }).unwrap();
    let refused = line.fails(400, r#""code":-2038,"msg":"No.""#);
    assert_eq!(refusal(refused), (Some(request(2)), false));
}

#[test]
fn a_cancel_is_answered_or_refused() {
    let mut line = Line::resting(None);
    line.cancel(1, 2).unwrap();
    let answer =
        r#"{"orderId":42,"origClientOrderId":"{1}","clientOrderId":"{2}","status":"CANCELED"}"#;
    let cancelled = only(line.answer(answer));
    assert_eq!(
        (cancelled.request, cancelled.event),
        (Some(request(2)), Some(OrderEvent::Cancelled))
    );
    let again = line.event("CANCELED", ["{2}", "{1}"], "CANCELED", "0");
    assert_eq!(only(again).event, Some(OrderEvent::Cancelled));
    let mut line = Line::resting(None);
    line.cancel(1, 2).unwrap();
    let refused = line.fails(400, r#""code":-2011,"msg":"Unknown order sent.""#);
    assert_eq!(refusal(refused), (Some(request(2)), true));
    // Somebody else's cancel of our order.
    let mut line = Line::resting(None);
    let foreign = only(line.event("CANCELED", ["web_1", "{1}"], "CANCELED", "0"));
    assert_eq!((foreign.request, foreign.event), (Some(request(0)), Some(OrderEvent::Cancelled)));
}

#[test]
fn of_others_only_trades_are_told() {
    let mut line = Line::up();
    assert_eq!(line.event("NEW", ["web_1", ""], "NEW", "0"), []);
    let trade = only(line.trade("web_1", 3, "0.001", "0.001", "FILLED"));
    assert_eq!((trade.request, trade.event), (None, Some(OrderEvent::Traded)));
    assert_eq!(line.event("CANCELED", ["web_2", "web_1"], "CANCELED", "0"), []);
}

#[test]
fn a_rehearsal_leaves_nothing_behind() {
    let mut line = Line::up();
    let (instrument, terms) = (bitcoin(), terms());
    let request = RequestId::create(ORDER);
    let order = OrderMessage { request, instrument: &instrument, account: None, terms: &terms };
    let before = line.handler.last_message();
    line.handler.create(START, &order, true).unwrap();
    assert!(line.handler.unsent().is_empty());
    assert_eq!(
        (line.handler.last_message(), line.handler.trading.known.names(ORDER).count()),
        (before, 0)
    );
}

#[test]
fn an_order_its_answer_its_event_and_its_cancel_allocate_nothing() {
    let mut line = Line::up();
    let (instrument, terms, account) = (bitcoin(), terms(), None);
    let request = RequestId { order: ORDER, version: 1 };
    let order = OrderMessage { request, instrument: &instrument, account, terms: &terms };
    let cancel = OrderMessage { request: RequestId { order: ORDER, version: 2 }, ..order };
    let (id, name) = (line.handler.last_message() + 1, named(1));
    let order_of = format!(r#""symbol":"BTCUSDT","orderId":42,"clientOrderId":"{name}""#);
    let answer = format!(
        r#"{{"id":{id},"status":200,"result":{{{order_of},"transactTime":1700000000000}}}}"#
    );
    let event = format!(
        concat!(
            r#"{{"subscriptionId":0,"event":{{"e":"executionReport","E":1,"s":"BTCUSDT","#,
            r#""c":"{name}","S":"BUY","o":"LIMIT","f":"GTC","q":"0.00300000","#,
            r#""p":"43000.50000000","C":"","x":"TRADE","X":"PARTIALLY_FILLED","r":"NONE","i":42,"#,
            r#""l":"0.00100000","z":"0.00100000","L":"43000.25000000","n":"0.00000120","#,
            r#""N":"BNB","t":9,"m":true,"T":1699999999999}}}}"#
        ),
        name = name
    );
    let now = line.now;
    let mut heard = 0;
    let measured = allocation_counter::measure(|| {
        line.handler.create(now, &order, false).unwrap();
        line.handler.clear_unsent();
        for message in [&answer, &event] {
            let mut bytes = message.as_bytes();
            while line.handler.handle_bytes(now, &mut bytes).is_some() {
                heard += 1;
            }
        }
        line.handler.cancel(now, request, &cancel).unwrap();
        line.handler.clear_unsent();
        line.handler.over(ORDER);
    });
    assert!(heard >= 2, "{heard}");
    assert_eq!(measured.count_total, 0);
}
