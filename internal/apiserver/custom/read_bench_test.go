package custom_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// BenchmarkFleetList measures a LIST of 500 objects of 12 KB, 20 with -short, in the forms
// that clients ask for.
func BenchmarkFleetList(b *testing.B) {
	path, objects := manyFleets(b, "list.bench.example.com")
	table := "application/json;as=Table;v=v1;g=meta.k8s.io"
	metadata := "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	lists := []struct{ name, accept, encoding string }{
		{name: "plain", encoding: "identity"},
		{name: "gzip", encoding: "gzip"},
		{name: "table", accept: table, encoding: "identity"},
		{name: "metadata", accept: metadata, encoding: "identity"},
	}
	for _, list := range lists {
		b.Run(list.name, func(b *testing.B) {
			size := int64(0)
			measure(b, func(int) { size = readAll(b, path, list.accept, list.encoding) })
			b.ReportMetric(float64(size), "wire-B/op")
		})
	}
	b.Run("changed", func(b *testing.B) {
		// A LIST of objects that were all changed since the last one.
		var used time.Duration
		n := 0
		for ; b.Loop(); n++ {
			b.StopTimer()
			for i := range objects {
				body := fmt.Appendf(nil, `{"spec":{"store":{"replicas":%d}}}`, n%20+4)
				send(b, request{method: "PATCH", path: fmt.Sprintf("%s/c%d", path, i), media: "application/merge-patch+json", body: body})
			}
			before := servertest.ProcessorTime(b)
			b.StartTimer()
			readAll(b, path, "", "identity")
			used += servertest.ProcessorTime(b) - before
		}
		b.ReportMetric(float64(used)/float64(n), "cpu-ns/op")
	})
}

// BenchmarkFleetStream measures a WATCH that begins with 500 objects, as the informers of
// clients open it.
func BenchmarkFleetStream(b *testing.B) {
	path, objects := manyFleets(b, "stream.bench.example.com")
	query := "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
	measure(b, func(int) {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		res := open(ctx, b, path+query)
		defer func() { _ = res.Body.Close() }()
		if err := readLines(res.Body, objects+1); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkFleetWatches measures the change of an object that 1,000 clients watch, 20 with
// -short.
func BenchmarkFleetWatches(b *testing.B) {
	const group = "watches.bench.example.com"
	path := defineFleets(b, group, false)
	send(b, request{method: "POST", path: path, body: asJSON(b, fleet(group, "a", 3))})
	b.Cleanup(func() { remove(b, path+"/a") })
	watches := 1000
	if testing.Short() {
		watches = 20
	}
	ctx, cancel := context.WithCancel(b.Context())
	arrived := make(chan error, watches)
	var all sync.WaitGroup
	for range watches {
		res := open(ctx, b, path+"?watch=true")
		all.Go(func() {
			defer func() { _ = res.Body.Close() }()
			lines := bufio.NewReaderSize(res.Body, 4<<10)
			for {
				err := readLine(lines)
				if ctx.Err() != nil {
					return
				}
				arrived <- err
			}
		})
	}
	b.Cleanup(all.Wait)
	b.Cleanup(cancel)
	await := func() {
		for range watches {
			if err := <-arrived; err != nil {
				b.Fatal(err)
			}
		}
	}
	await() // Each watch begins with the object.
	measure(b, func(n int) {
		body := fmt.Appendf(nil, `{"spec":{"store":{"replicas":%d}}}`, n%20+4)
		send(b, request{method: "PATCH", path: path + "/a", media: "application/merge-patch+json", body: body})
		await()
	})
}

// measure runs a benchmark, and reports the processor time of the process.
func measure(b *testing.B, run func(n int)) {
	b.ReportAllocs()
	n, before := 0, servertest.ProcessorTime(b)
	for b.Loop() {
		run(n)
		n++
	}
	b.ReportMetric(float64(servertest.ProcessorTime(b)-before)/float64(n), "cpu-ns/op")
}

// manyFleets creates 500 objects, 20 with -short.
func manyFleets(b *testing.B, group string) (path string, objects int) {
	b.Helper()
	path = defineFleets(b, group, false)
	b.Cleanup(func() { shared.must(b, http.StatusOK, "DELETE", path, "") })
	objects = 500
	if testing.Short() {
		objects = 20
	}
	created := &reply{body: asJSON(b, fleet(group, "NAME", 3))}
	for n := range objects {
		send(b, request{method: "POST", path: path, body: created.named(n)})
	}
	return path, objects
}

// open sends a GET request and returns the answer when its header has arrived.
func open(ctx context.Context, b *testing.B, path string) *http.Response {
	b.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, shared.url+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	res, err := shared.http.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		b.Fatalf("GET %s: %s", path, res.Status)
	}
	return res
}

// readAll reads a list and returns the number of bytes on the wire.
func readAll(b *testing.B, path, accept, encoding string) int64 {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, shared.url+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	// A client that sets the header gets the compressed bytes.
	req.Header.Set("Accept-Encoding", encoding)
	req.Header.Set("Accept", accept)
	res, err := shared.http.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	size, err := io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		b.Fatal(res.Status, err)
	}
	return size
}

func readLines(from io.Reader, n int) error {
	lines := bufio.NewReaderSize(from, 4<<10)
	for range n {
		if err := readLine(lines); err != nil {
			return err
		}
	}
	return nil
}

// readLine reads a line of any length.
func readLine(from *bufio.Reader) error {
	for {
		_, err := from.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
