package side

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"
)

// Holdfast runs "holdfast serve" with its embedded etcd, and with further flags.
func Holdfast(binary string, flags ...string) Side {
	return Side{Name: "Holdfast", Collects: true, start: func(dir string) (*Server, error) {
		ports, err := FreePorts(1)
		if err != nil {
			return nil, err
		}
		data := filepath.Join(dir, "data")
		s := &Server{url: "https://127.0.0.1:" + ports[0]}
		started := time.Now()
		p, err := startProcess(dir, binary, append([]string{"serve", "--data-dir", data, "--secure-port", ports[0]}, flags...)...)
		if err != nil {
			return nil, err
		}
		s.processes = append(s.processes, p)
		return s, s.waitReady(started, func() (*authority, error) {
			return readAuthority(filepath.Join(data, "pki", "ca.crt"), filepath.Join(data, "pki", "ca.key"))
		})
	}}
}

// FreePorts returns ports of 127.0.0.1 that no process listens on now.
func FreePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		// The listeners stay open until the end, so that all ports differ.
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }()
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("unexpected address %v", listener.Addr())
		}
		ports = append(ports, strconv.Itoa(address.Port))
	}
	return ports, nil
}
