// Package meter is what both peers measure with.
package meter

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"syscall"
	"time"
	"unsafe"
)

// Arguments are those of taut-bench loop-client that a peer knows.
type Arguments struct {
	Connect     string
	Connections int
	Rate        int
	Size        int
	Seconds     int
	Wait        string
}

// Start reads the command line, and says when the peer is to end; nothing is collected until then.
func Start() (Arguments, time.Time) {
	var a Arguments
	flag.StringVar(&a.Connect, "connect", "", "the server")
	flag.IntVar(&a.Connections, "connections", 1, "connections to open")
	flag.IntVar(&a.Rate, "rate", 1000, "messages per second of each")
	flag.IntVar(&a.Size, "size", 1024, "bytes of a message")
	flag.IntVar(&a.Seconds, "seconds", 5, "how long to receive at most")
	flag.StringVar(&a.Wait, "wait", "spin", "spin or block")
	flag.Int("cpu", 0, "ignored: pin with taskset")
	flag.Bool("json", true, "ignored: always")
	flag.Parse()
	debug.SetGCPercent(-1)
	return a, time.Now().Add(time.Duration(a.Seconds) * time.Second)
}

// Check ends the program when something went wrong.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const clockMonotonic = 1

// Now is CLOCK_MONOTONIC in nanoseconds.
func Now() int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Sec*1_000_000_000 + t.Nsec
}

var (
	origin     = time.Now()
	originMono = Now()
)

// Fast is CLOCK_MONOTONIC without a system call: time.Since uses the vDSO.
func Fast() int64 { return originMono + int64(time.Since(origin)) }

// Meter keeps every latency and sorts at the end, outside of the measurement.
type Meter struct {
	warmUp     uint64
	expected   []uint64
	Latency    []int64
	Intended   []int64
	Count      int
	OutOfOrder int
	first      int64
	usage      syscall.Rusage
}

// New makes a meter with room for everything that can arrive.
func New(a Arguments) *Meter {
	warm := uint64(100)
	if a.Rate < 100 {
		warm = 10
	}
	room := a.Connections * a.Rate * (a.Seconds + 1)
	return &Meter{
		warmUp:   warm,
		expected: make([]uint64, a.Connections),
		Latency:  make([]int64, 0, room),
		Intended: make([]int64, 0, room),
	}
}

// Received notes a message of a connection.
func (m *Meter) Received(connection int, message []byte) {
	now := Fast()
	sequence := binary.LittleEndian.Uint64(message[16:])
	if sequence != m.expected[connection] {
		m.OutOfOrder++
	}
	m.expected[connection] = sequence + 1
	if sequence < m.warmUp {
		return
	}
	m.Latency = append(m.Latency, now-int64(binary.LittleEndian.Uint64(message)))
	m.Intended = append(m.Intended, now-int64(binary.LittleEndian.Uint64(message[8:])))
	m.Count++
	if m.first == 0 {
		m.first = now
		syscall.Getrusage(syscall.RUSAGE_SELF, &m.usage)
	}
}

type figures struct {
	Min   int64 `json:"min"`
	P50   int64 `json:"p50"`
	P99   int64 `json:"p99"`
	P999  int64 `json:"p999"`
	P9999 int64 `json:"p9999"`
	Max   int64 `json:"max"`
}

func figuresOf(values []int64) figures {
	if len(values) == 0 {
		return figures{}
	}
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	at := func(p float64) int64 {
		i := int(p*float64(len(values))+0.999999) - 1
		if i < 0 {
			i = 0
		}
		return values[i]
	}
	return figures{values[0], at(0.5), at(0.99), at(0.999), at(0.9999), values[len(values)-1]}
}

// Merge adds what another meter, of other connections, noted.
func (m *Meter) Merge(o *Meter) {
	m.Latency = append(m.Latency, o.Latency...)
	m.Intended = append(m.Intended, o.Intended...)
	m.Count += o.Count
	m.OutOfOrder += o.OutOfOrder
	if m.first == 0 || (o.first != 0 && o.first < m.first) {
		m.first, m.usage = o.first, o.usage
	}
}

// Print reports.
func (m *Meter) Print(backend string, a Arguments) {
	var end syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &end)
	nanos := func(t syscall.Timeval) int64 { return t.Sec*1_000_000_000 + t.Usec*1000 }
	used := nanos(end.Utime) + nanos(end.Stime) - nanos(m.usage.Utime) - nanos(m.usage.Stime)
	report := map[string]any{
		"backend": backend, "wait": a.Wait, "connections": a.Connections, "rate": a.Rate,
		"count": m.Count, "out_of_sequence": m.OutOfOrder,
		"cpu_percent":            float64(used) * 100 / float64(max(Fast()-m.first, 1)),
		"context_switches":       end.Nvcsw + end.Nivcsw - m.usage.Nvcsw - m.usage.Nivcsw,
		"latency_ns":             figuresOf(m.Latency),
		"intended_ns":            figuresOf(m.Intended),
		"syscalls_per_message":   -1,
		"idle_calls_per_message": -1,
	}
	text, err := json.Marshal(report)
	Check(err)
	fmt.Println(string(text))
}
