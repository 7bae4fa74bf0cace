package attack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

const (
	// interval is the time between two requests of a victim.
	interval = 100 * time.Millisecond
	// patience is how long a victim waits for an answer.
	patience = 30 * time.Second
)

// victim is a client that is not the attacker.
type victim struct {
	name string
	user side.User
	// request returns the n-th request.
	request func(n int) side.Request
}

// victims are the clients that go on during the attack.
func victims() []victim {
	return []victim{
		{name: "user", user: side.User{Name: "writer"}, request: createConfigMap("user")},
		{name: "node", user: side.User{Name: "system:node:" + nodeName, Groups: []string{"system:nodes"}}, request: renewLease},
		{name: "controller", user: side.User{Name: "system:kube-controller-manager"}, request: createConfigMap("controller")},
	}
}

const (
	configMaps = "/api/v1/namespaces/default/configmaps"
	leases     = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	nodeName   = "node-1"
)

func createConfigMap(prefix string) func(int) side.Request {
	return func(n int) side.Request {
		return side.Request{Method: http.MethodPost, Path: configMaps, Body: fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s-%d"},"data":{"n":"%d"}}`, prefix, n, n)}
	}
}

func renewLease(int) side.Request {
	return side.Request{
		Method: http.MethodPatch, Path: leases + "/" + nodeName, ContentType: "application/merge-patch+json",
		Body: fmt.Appendf(nil, `{"spec":{"renewTime":"%s"}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")),
	}
}

// Answers counts the answers to the requests of one client.
type Answers struct {
	// OK has the time until each answer that was a success, in no order.
	OK []time.Duration
	// Refused is the number of answers with status 429.
	Refused int
	// Failed is the number of other answers, and of requests without an answer in 30 seconds.
	Failed int
	// Err is one of the reasons for Failed.
	Err error
}

// send sends requests for a duration and waits for their answers. The first request has the number first.
func (v victim) send(ctx context.Context, client *side.Client, first int, d time.Duration) *Answers {
	answers := &Answers{}
	var mu sync.Mutex
	var open sync.WaitGroup
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for n := range int(d / interval) {
		open.Go(func() {
			limited, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			started := time.Now()
			_, err := client.Do(limited, v.request(first+n))
			took := time.Since(started)
			mu.Lock()
			defer mu.Unlock()
			answers.add(took, err)
		})
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	open.Wait()
	return answers
}

func (a *Answers) add(took time.Duration, err error) {
	var status *side.StatusError
	switch {
	case err == nil:
		a.OK = append(a.OK, took)
	case errors.As(err, &status) && status.Code == http.StatusTooManyRequests:
		a.Refused++
	default:
		a.Failed++
		a.Err = err
	}
}
