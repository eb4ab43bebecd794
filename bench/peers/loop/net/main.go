// Go's net as a client of taut-bench loop-server: a goroutine for each connection.
package main

import (
	"io"
	"net"
	"sync"

	"taut/bench/peers/loop/meter"
)

func main() {
	a, end := meter.Start()
	one := a
	one.Connections = 1
	meters := make([]*meter.Meter, a.Connections)
	var done sync.WaitGroup
	for i := range meters {
		conn, err := net.Dial("tcp", a.Connect)
		meter.Check(err)
		_ = conn.(*net.TCPConn).SetNoDelay(true)
		_ = conn.SetReadDeadline(end)
		m := meter.New(one)
		meters[i] = m
		done.Add(1)
		go func() {
			defer done.Done()
			buffer := make([]byte, a.Size)
			for {
				if _, err := io.ReadFull(conn, buffer); err != nil {
					return
				}
				m.Received(0, buffer)
			}
		}()
	}
	done.Wait()
	all := meters[0]
	for _, m := range meters[1:] {
		all.Merge(m)
	}
	a.Wait = "block"
	all.Print("net", a)
}
