package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/quickfixgo/quickfix"
)

// The private key of "one-ed25519" at a venue that speaks as Binance: the one that Binance's
// documents publish. TAUT_KEY names another file.
const publishedKey = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u
-----END PRIVATE KEY-----`

func ed25519Key() (ed25519.PrivateKey, error) {
	text := []byte(publishedKey)
	if path := os.Getenv("TAUT_KEY"); path != "" {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("the key is no PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, isEd25519 := key.(ed25519.PrivateKey)
	if !isEd25519 {
		return nil, fmt.Errorf("the key is no Ed25519 key")
	}
	return private, nil
}

// binanceLogon signs what the venue asks for: type, names, number and time.
func binanceLogon(key ed25519.PrivateKey, isDropCopy bool) func(*quickfix.Message) {
	return func(logon *quickfix.Message) {
		of := func(tag quickfix.Tag) string {
			value, _ := logon.Header.GetString(tag)
			return value
		}
		text := strings.Join([]string{"A", of(49), of(56), of(34), of(52)}, "\x01")
		signature := base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(text)))
		logon.Body.SetInt(95, len(signature))
		logon.Body.SetString(96, signature)
		logon.Body.SetString(141, "Y")
		logon.Body.SetString(553, "one-ed25519")
		logon.Body.SetString(25035, "2")
		if isDropCopy {
			logon.Body.SetString(9406, "Y")
		}
	}
}

const symbol = "BTCUSDT"

func bestPrices() (bid, ask float64, err error) {
	var top struct{ BidPrice, AskPrice string }
	if err = get("https://api.binance.com/api/v3/ticker/bookTicker?symbol="+symbol, &top); err == nil {
		bid, err = strconv.ParseFloat(top.BidPrice, 64)
	}
	if err == nil {
		ask, err = strconv.ParseFloat(top.AskPrice, 64)
	}
	return bid, ask, err
}

func cents(number float64) string { return strconv.FormatFloat(number, 'f', 2, 64) }

func dayAtBinance() error {
	var one, copies *member
	var s steps
	key, err := ed25519Key()
	if err != nil {
		return err
	}
	connect := func() (err error) {
		one, err = logOn("fix-oe.binance.com", "9000", "QUICKFIX", "SPOT", binanceLogon(key, false))
		return err
	}
	s.do("logon", connect)
	s.do("drop_copy", func() (err error) {
		copies, err = logOn("fix-dc.binance.com", "9000", "COPIES", "SPOT", binanceLogon(key, true))
		return err
	})
	s.do("limits", func() error {
		limits, err := one.ask("the limits", "XLQ", []string{"6136", "l"}, func(f fields) bool { return f.has("35", "XLR", "6136", "l") })
		if err == nil && !limits.has("25003", "3") {
			err = fmt.Errorf("%v", limits)
		}
		return err
	})
	place := func(name, quantity string, at float64) (fields, error) {
		terms := []string{"11", name, "38", quantity, "40", "2", "44", cents(at), "54", "1", "55", symbol, "59", "1"}
		if err := one.say("D", terms...); err != nil {
			return nil, err
		}
		return one.report("an answer to an order", "11", name)
	}
	var far float64
	s.do("create", func() error {
		bid, _, err := bestPrices()
		if err != nil {
			return err
		}
		far = bid * 0.95
		report, err := place("resting", "0.002", far)
		if err == nil && !report.has("150", "0", "39", "0") {
			err = fmt.Errorf("%v", report)
		}
		if err == nil {
			_, err = copies.report("its copy", "11", "resting", "150", "0")
		}
		return err
	})
	s.do("partial_fill", func() error {
		for tries := 0; tries < 40; tries++ {
			_, ask, err := bestPrices()
			if err != nil {
				return err
			}
			name := fmt.Sprintf("taker-%d", tries)
			if _, err = place(name, "0.5", ask); err != nil {
				return err
			}
			one.say("F", "11", name+"-c", "41", name, "55", symbol)
			filled := 0.0
			isEnd := func(f fields) bool {
				if f.has("35", "8", "11", name, "150", "F") {
					filled += f.number("32")
				}
				return f.has("35", "9", "11", name+"-c") || f.has("35", "8", "11", name+"-c")
			}
			end, err := one.await("the end of an order", isEnd)
			if err != nil {
				return err
			}
			if end.has("35", "8", "150", "4") && filled > 0 && filled < 0.5 {
				_, err = copies.report("a copy of its trade", "11", name, "150", "F")
				return err
			}
		}
		return fmt.Errorf("no order was filled in part")
	})
	s.do("amend", func() error {
		report, err := one.ask("an answer to an amendment", "XAK", []string{"11", "smaller", "41", "resting", "38", "0.001", "55", symbol}, func(f fields) bool { return f.has("35", "8", "150", "5") })
		if err == nil && !(report.has("11", "smaller", "41", "resting", "39", "0") && report.number("38") == 0.001) {
			err = fmt.Errorf("%v", report)
		}
		return err
	})
	s.do("replace", func() error {
		terms := []string{
			"11", "other", "41", "smaller", "38", "0.003", "40", "2", "44", cents(far - 100), "54", "1", "55", symbol, "59", "1",
			"25002", "1", "25033", "1", "25034", "other-c",
		}
		if err := one.say("XCN", terms...); err != nil {
			return err
		}
		_, err := one.report("the end of the old order", "11", "other-c", "150", "4")
		if err == nil {
			_, err = one.report("the new order", "11", "other", "150", "0")
		}
		return err
	})
	s.do("refused", func() error {
		_, err := one.ask("a refusal", "F", []string{"11", "none-c", "41", "none", "55", symbol}, func(f fields) bool { return f.has("35", "9", "25016", "-2011") })
		if err == nil {
			var report fields
			report, err = place("tiny", "0.00001", far)
			if err == nil && !report.has("150", "8", "25016", "-1013") {
				err = fmt.Errorf("%v", report)
			}
		}
		return err
	})
	s.do("reconnect", func() error {
		if err := one.logOut(); err != nil {
			return err
		}
		return connect()
	})
	s.do("cancel", func() error {
		_, err := one.ask("an answer to a cancel", "F", []string{"11", "end", "41", "other", "55", symbol}, func(f fields) bool { return f.has("35", "8", "11", "end", "41", "other", "150", "4") })
		return err
	})
	s.do("cancel_all", func() error {
		for _, name := range []string{"a", "b"} {
			if _, err := place(name, "0.001", far); err != nil {
				return err
			}
		}
		report, err := one.ask("an answer to a mass cancel", "q", []string{"11", "m", "530", "1", "55", symbol}, func(f fields) bool { return f.has("35", "r") })
		if err == nil && !report.has("531", "1", "533", "2") {
			err = fmt.Errorf("%v", report)
		}
		return err
	})
	s.do("logout", func() error {
		if err := one.logOut(); err != nil {
			return err
		}
		return copies.logOut()
	})
	return s.failed
}
