module taut/bench/peers/loop

go 1.22

require github.com/talostrading/sonic v0.9.2

require (
	github.com/HdrHistogram/hdrhistogram-go v1.1.2 // indirect
	golang.org/x/sys v0.11.0 // indirect
)
