// Sonic as a client of taut-bench loop-server: AsyncReadAll on every connection.
package main

import (
	"runtime"
	"time"

	"github.com/talostrading/sonic"
	"github.com/talostrading/sonic/sonicopts"

	"taut/bench/peers/loop/meter"
)

func main() {
	a, end := meter.Start()
	runtime.LockOSThread()
	ioc := sonic.MustIO()
	defer ioc.Close()
	m := meter.New(a)
	open := a.Connections
	conns := make([]sonic.Conn, a.Connections)
	for i := range conns {
		conn, err := sonic.Dial(ioc, "tcp", a.Connect, sonicopts.Nonblocking(true), sonicopts.NoDelay(true))
		meter.Check(err)
		conns[i] = conn
		buffer := make([]byte, a.Size)
		var onRead sonic.AsyncCallback
		onRead = func(err error, _ int) {
			if err != nil {
				open--
				return
			}
			m.Received(i, buffer)
			conn.AsyncReadAll(buffer, onRead)
		}
		conn.AsyncReadAll(buffer, onRead)
	}
	for turn := 0; open > 0; turn++ {
		if a.Wait == "block" {
			_ = ioc.RunOneFor(100 * time.Millisecond)
		} else {
			_, _ = ioc.PollOne()
		}
		if turn%1024 == 0 && time.Now().After(end) {
			break
		}
	}
	m.Print("sonic", a)
}
