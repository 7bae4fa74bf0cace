package servertest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports below the range from which the kernel chooses ports for connections, and for listeners on port 0.
const firstPort, lastPort = 20000, 29999

// FreePort returns a free port of the loopback interface. It is for a test that starts a server twice at one address, or that must know
// the address before it starts the server. While the server is down, the kernel gives the port to no connection.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		// The port is random, because tests of other processes look for one at the same time.
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
