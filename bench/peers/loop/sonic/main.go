// Sonic as a client of taut-bench loop-server: AsyncReadAll on every connection.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/talostrading/sonic"
	"github.com/talostrading/sonic/sonicopts"

	"taut/bench/peers/loop/meter"
)

func main() {
	a := meter.Parse()
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	ioc := sonic.MustIO()
	defer ioc.Close()
	m := meter.New(a)
	open := a.Connections
	conns := make([]sonic.Conn, a.Connections)
	for i := range conns {
		conn, err := sonic.Dial(ioc, "tcp", a.Connect, sonicopts.Nonblocking(true), sonicopts.NoDelay(true))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
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
	end := time.Now().Add(time.Duration(a.Seconds) * time.Second)
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
