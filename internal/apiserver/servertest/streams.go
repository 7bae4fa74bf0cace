package servertest

import (
	"bytes"
	"crypto/tls"
	"net/url"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"k8s.io/client-go/rest"
)

// streamsOfConnection is how many streams the server allows on one connection.
const streamsOfConnection = 100

// window is the number of bytes that the server may send before the client allows more.
const window = 1 << 30

// Streams are open watches of a client that needs almost no memory and no computation, because a benchmark measures both in the process of the
// server and the client. There is one goroutine and one connection for a hundred watches, and nothing is kept for a single one.
type Streams struct {
	t testing.TB

	mu      sync.Mutex
	arrived sync.Cond
	lines   int
	err     error
}

// OpenStreams opens a watch for each path, in JSON. The watches end with the test.
func OpenStreams(t testing.TB, config *rest.Config, paths []string) *Streams {
	t.Helper()
	s := &Streams{t: t}
	s.arrived.L = &s.mu
	for len(paths) > 0 {
		n := min(len(paths), streamsOfConnection)
		s.connect(config, paths[:n])
		paths = paths[n:]
	}
	return s
}

// Await waits until a number of events has arrived since the last call, from all watches together.
func (s *Streams) Await(events int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.lines < events && s.err == nil {
		s.arrived.Wait()
	}
	if s.err != nil {
		s.t.Fatal(s.err)
	}
	s.lines -= events
}

// connect opens one connection with a watch for each path.
func (s *Streams) connect(config *rest.Config, paths []string) {
	s.t.Helper()
	settings, err := rest.TLSConfigFor(config)
	if err != nil {
		s.t.Fatal(err)
	}
	settings = settings.Clone()
	settings.NextProtos = []string{http2.NextProtoTLS}
	server, err := url.Parse(config.Host)
	if err != nil {
		s.t.Fatal(err)
	}
	connection, err := tls.Dial("tcp", server.Host, settings)
	if err != nil {
		s.t.Fatal(err)
	}
	framer := http2.NewFramer(connection, connection)
	framer.SetReuseFrames()
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := openStreams(connection, framer, server.Host, paths); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := s.read(framer)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
		s.arrived.Broadcast()
	}()
	s.t.Cleanup(func() {
		_ = connection.Close() // the reader ends with an error
		<-ended
	})
}

// openStreams begins a connection, and sends a request for each path.
func openStreams(connection *tls.Conn, framer *http2.Framer, host string, paths []string) error {
	if _, err := connection.Write([]byte(http2.ClientPreface)); err != nil {
		return err
	}
	if err := framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}); err != nil {
		return err
	}
	if err := framer.WriteWindowUpdate(0, window); err != nil {
		return err
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i, path := range paths {
		block.Reset()
		for _, field := range []hpack.HeaderField{
			{Name: ":method", Value: "GET"},
			{Name: ":scheme", Value: "https"},
			{Name: ":authority", Value: host},
			{Name: ":path", Value: path},
			{Name: "accept", Value: "application/json"},
			{Name: "user-agent", Value: "streams"},
		} {
			if err := encoder.WriteField(field); err != nil {
				return err
			}
		}
		err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// read counts the events of a connection until it ends.
func (s *Streams) read(framer *http2.Framer) error {
	taken := 0
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = framer.WriteSettingsAck()
			}
		case *http2.PingFrame:
			err = framer.WritePing(true, frame.Data)
		case *http2.MetaHeadersFrame:
			if status := frame.PseudoValue("status"); status != "200" && status != "" {
				s.t.Errorf("a watch begins with the status %s", status)
			}
		case *http2.DataFrame:
			if taken += len(frame.Data()); taken > window/2 {
				err = framer.WriteWindowUpdate(0, uint32(taken))
				taken = 0
			}
			s.count(bytes.Count(frame.Data(), []byte("\n")))
		}
		if err != nil {
			return err
		}
	}
}

func (s *Streams) count(lines int) {
	if lines == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines += lines
	s.arrived.Broadcast()
}
