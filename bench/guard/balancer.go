package guard

import (
	"io"
	"net"
	"sync"
)

// balancer forwards connections to one of several addresses, as a Service does.
type balancer struct {
	listener net.Listener

	mu       sync.Mutex
	backends []string
	// open are the connections of clients.
	open map[net.Conn]bool
}

// newBalancer listens at a free port. The caller must close the listener.
func newBalancer() (*balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &balancer{listener: listener, open: map[net.Conn]bool{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the listener is closed
			}
			go b.forward(conn)
		}
	}()
	return b, nil
}

func (b *balancer) url() string { return "https://" + b.listener.Addr().String() }

// add adds an address.
func (b *balancer) add(backend string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = append(b.backends, backend)
}

// rotated returns the addresses, another one first each time.
func (b *balancer) rotated() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.backends) > 0 {
		b.backends = append(b.backends[1:], b.backends[0])
	}
	return append([]string(nil), b.backends...)
}

// disconnect closes all connections. The next ones have new handshakes.
func (b *balancer) disconnect() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for conn := range b.open {
		_ = conn.Close()
	}
}

func (b *balancer) opened(conn net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[conn] = true
}

func (b *balancer) closed(conn net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, conn)
	_ = conn.Close()
}

// forward copies both directions of a connection. Without a backend it closes the connection.
func (b *balancer) forward(conn net.Conn) {
	b.opened(conn)
	defer b.closed(conn)
	for _, address := range b.rotated() {
		backend, err := net.Dial("tcp", address)
		if err != nil {
			continue
		}
		go func() {
			_, _ = io.Copy(backend, conn)
			_ = backend.Close()
		}()
		_, _ = io.Copy(conn, backend)
		_ = backend.Close()
		return
	}
}
