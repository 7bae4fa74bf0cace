package faults_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// links are the connections between the members of an etcd cluster. Each member advertises the URL of
// a proxy, which knows the sender of a request from a header of etcd. So a test can cut off a member
// from the others, while the API servers still reach it.
type links struct {
	// urls are what the members advertise, and peers where they listen.
	urls, peers []string
	// ids are the IDs of the members.
	ids   []string
	mutex sync.Mutex
	// isolated is the member without connections, -1 for none.
	isolated int
	// open are the running requests.
	open map[*transfer]bool
}

// transfer is a request from one member to another. Messages of both directions may go through it.
type transfer struct {
	from   string
	to     int
	cancel context.CancelFunc
}

func newLinks(t *testing.T, size int) *links {
	t.Helper()
	l := &links{isolated: -1, ids: make([]string, size), open: map[*transfer]bool{}}
	for i := range size {
		peer := "http://" + freeAddress(t)
		target, err := url.Parse(peer)
		if err != nil {
			t.Fatal(err)
		}
		proxy := &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
			FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.forward(proxy, i, w, r) }))
		t.Cleanup(func() {
			l.end(func(*transfer) bool { return true })
			server.CloseClientConnections()
			server.Close()
		})
		l.urls, l.peers = append(l.urls, server.URL), append(l.peers, peer)
	}
	return l
}

// forward forwards a request to a member, or drops it.
func (l *links) forward(proxy http.Handler, to int, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	request := &transfer{from: r.Header.Get("X-Server-From"), to: to, cancel: cancel}
	l.mutex.Lock()
	cut := l.isCut(request)
	if !cut {
		l.open[request] = true
	}
	l.mutex.Unlock()
	if cut {
		panic(http.ErrAbortHandler)
	}
	defer func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		delete(l.open, request)
	}()
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// isCut reports whether a request is from or to the isolated member.
func (l *links) isCut(request *transfer) bool {
	return l.isolated >= 0 && (l.isolated == request.to || l.ids[l.isolated] == request.from)
}

// isolate cuts the connections between one member and all others.
func (l *links) isolate(member int) {
	l.mutex.Lock()
	l.isolated = member
	l.mutex.Unlock()
	l.end(l.isCut)
}

// heal connects all members again.
func (l *links) heal() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.isolated = -1
}

// end ends the running requests that match.
func (l *links) end(matches func(*transfer) bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for request := range l.open {
		if matches(request) {
			request.cancel()
		}
	}
}

// setID sets the ID of a member.
func (l *links) setID(member int, id uint64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.ids[member] = fmt.Sprintf("%x", id)
}
