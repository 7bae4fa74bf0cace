package compare

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"holdfast.dev/holdfast/bench/manifest"
	"holdfast.dev/holdfast/bench/side"
)

const informersSection = "informers"

// largeSize is the size of the objects that informers list.
const largeSize = 100_000

// informersLimit is the memory that the lists may add, in MB.
const informersLimit = 1024

// The memory of the machine, in MB, below which a measurement ends its server: the kernel would end any program otherwise.
const leastFree = 3072

// informTime is the longest time of one measurement. A server ends a list after a minute, and an informer lists again.
const informTime = 10 * time.Minute

func informerRows(s Settings) []Row {
	section := informersSection
	base := fmt.Sprintf("%d informers and %d objects of 100 KB", s.Informers, s.Large)
	return []Row{
		{Section: section, Name: "peak above the memory before, LIST: " + base, Unit: "MB", Limit: informersLimit},
		{Section: section, Name: "peak above the memory before, watch-list: " + base, Unit: "MB", Limit: informersLimit},
	}
}

// informers measures the memory of lists of large objects that many clients ask for at the same time.
func (r *runner) informers(ctx context.Context) error {
	return r.lifetimes(1, informerRows(r.settings), func(sideIndex int) ([]Sample, error) { return r.informAll(ctx, sideIndex) })
}

// informAll stores the objects, starts the server again, and lets all informers begin at the same time: with a list, and then with a
// watch that begins with all objects.
func (r *runner) informAll(ctx context.Context, sideIndex int) ([]Sample, error) {
	l, err := r.begin(ctx, sideIndex)
	if err != nil {
		return nil, err
	}
	defer func() { l.stop() }()
	client, err := l.server.Client(side.Administrator())
	if err != nil {
		return nil, err
	}
	t := configMaps()
	err = atATime(l.settings.Large, func(i int) error {
		obj := manifest.LargeConfigMap(largeName(i), largeSize)
		_, err := client.Do(ctx, side.Request{Method: http.MethodPost, Path: t.path, Body: encode(obj)})
		return err
	})
	client.Close()
	if err != nil {
		return nil, err
	}
	l.samples = nil
	for _, query := range []string{
		"?resourceVersion=0", "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan",
	} {
		measured := l.samples
		if err := l.restart(); err != nil {
			return nil, err
		}
		l.samples = measured // without those of the start
		one, err := l.informOnce(ctx, t.path+query)
		if err != nil {
			return nil, err
		}
		l.add(one)
	}
	return l.samples, nil
}

// informOnce measures by how much the memory of a server rises above that at rest, while all informers read a path. If the machine has
// no memory left, it ends the server, and the sample says that the value is a lower bound.
func (l *life) informOnce(ctx context.Context, path string) (Sample, error) {
	if err := l.cached(ctx); err != nil {
		return Sample{}, err
	}
	_, base, err := l.settle(ctx)
	if err != nil {
		return Sample{}, err
	}
	if err := l.server.ResetPeak(); err != nil {
		return Sample{}, err
	}
	before, err := readClocks(l.server)
	if err != nil {
		return Sample{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, informTime)
	defer cancel()
	ended := make(chan int64, 1)
	guarding := sync.WaitGroup{}
	guarding.Go(func() { l.guard(bounded, cancel, ended) })
	again, failed := l.inform(bounded, path, l.settings.Informers)
	cancel()
	guarding.Wait()
	select {
	case peak := <-ended:
		s := usage{peak: peak}.sample(megabytes(peak - base))
		s.Note = fmt.Sprintf("more: the machine had less than %d MB left, and the server was ended", leastFree)
		return s, nil
	default:
	}
	if failed != nil {
		return Sample{}, failed
	}
	peak, err := l.server.PeakMemory()
	if err != nil {
		return Sample{}, err
	}
	after, err := readClocks(l.server)
	s := after.since(before, peak).sample(megabytes(peak - base))
	if again > 0 {
		s.Note = fmt.Sprintf("the server ended %s early, and the informers began again", plural(int(again), "answer"))
	}
	return s, err
}

// cached waits until the server has the objects in its watch cache, which answers a read of any revision, and lets it collect the garbage
// of its start.
func (l *life) cached(ctx context.Context) error {
	client, err := l.server.Client(side.Administrator())
	if err != nil {
		return err
	}
	defer client.Close()
	err = client.Await(ctx, side.Request{Method: http.MethodGet, Path: configMaps().path + "/" + largeName(0) + "?resourceVersion=0"})
	if err != nil {
		return err
	}
	_, err = l.server.LiveHeap(ctx, client)
	return err
}

func largeName(i int) string { return fmt.Sprintf("large-%06d", i) }

// guard ends the server, without warning and for lack of time, when the machine has no memory left.
func (l *life) guard(ctx context.Context, cancel context.CancelFunc, ended chan<- int64) {
	for pause(ctx, 20*time.Millisecond) == nil {
		free, err := side.AvailableMemory()
		if err != nil || free>>20 >= leastFree {
			continue
		}
		peak, err := l.server.PeakMemory()
		l.server.Kill()
		if err == nil {
			ended <- peak
		}
		cancel()
	}
}
