package attack

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// Settings are the size and the length of an attack.
type Settings struct {
	// Bodies is the number of slow bodies that are open at a time.
	Bodies int
	// Before is how long the victims are measured before the attack, and During how long the attack goes on.
	Before, During time.Duration
	// Refusal is how much longer the attack goes on at most, until the server has refused a body.
	Refusal time.Duration
}

// Result is the outcome on one side.
type Result struct {
	Side string
	// Victims has the answers to each victim, by its name.
	Victims []VictimResult
	// Ends has the ends of the slow bodies, grouped by status.
	Ends []Ends
}

// VictimResult is the outcome for one victim.
type VictimResult struct {
	Name           string
	Before, During *Answers
}

// Measure attacks a server.
func Measure(ctx context.Context, server *side.Server, s Settings) (*Result, error) {
	admin, err := server.Client(side.Administrator())
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, admin); err != nil {
		return nil, err
	}
	slow, err := server.Client(side.User{Name: "slow"})
	if err != nil {
		return nil, err
	}
	all := victims()
	clients := make([]*side.Client, len(all))
	for i, v := range all {
		if clients[i], err = server.Client(v.user); err != nil {
			return nil, err
		}
		if err := clients[i].Await(ctx, v.request(0)); err != nil {
			return nil, fmt.Errorf("first request of the %s: %w", v.name, err)
		}
	}
	// sendAll lets all victims send requests at the same time.
	sendAll := func(first int, d time.Duration) []*Answers {
		answers := make([]*Answers, len(all))
		var sending sync.WaitGroup
		for i, v := range all {
			sending.Go(func() { answers[i] = v.send(ctx, clients[i], first, d) })
		}
		sending.Wait()
		return answers
	}
	before := sendAll(1, s.Before)
	attack, stop := context.WithCancel(ctx)
	defer stop()
	a := &attacker{client: slow}
	var attacking sync.WaitGroup
	attacking.Go(func() { a.run(attack, s.Bodies) })
	during := sendAll(1+int(s.Before/interval), s.During)
	a.awaitRefusal(ctx, s.Refusal)
	stop()
	attacking.Wait()
	result := &Result{Ends: group(a.ends)}
	for i, v := range all {
		result.Victims = append(result.Victims, VictimResult{Name: v.name, Before: before[i], During: during[i]})
	}
	return result, ctx.Err()
}

// prepare creates what the victims need: permissions for the user and the controller, and the Lease of the node. A node may write
// its own Lease.
func prepare(ctx context.Context, admin *side.Client) error {
	if err := admin.Await(ctx, side.Request{Method: http.MethodGet, Path: "/api/v1/namespaces/default"}); err != nil {
		return err
	}
	// Holdfast has this namespace when it is ready. The peer creates it a moment later, so this request creates it, or fails because
	// it exists.
	namespace := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-node-lease"}}`
	_, _ = admin.Do(ctx, side.Request{Method: http.MethodPost, Path: "/api/v1/namespaces", Body: []byte(namespace)})
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
	for _, r := range []side.Request{
		// The peer fills the ClusterRole edit only if kube-controller-manager runs.
		{Method: http.MethodPost, Path: rbac + "/roles", Body: []byte(`{
			"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"writers"},
			"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]}`)},
		{Method: http.MethodPost, Path: rbac + "/rolebindings", Body: []byte(`{
			"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"writers"},
			"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"writers"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"writer"},
				{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"system:kube-controller-manager"}]}`)},
		{Method: http.MethodPost, Path: leases, Body: fmt.Appendf(nil, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
			"metadata":{"name":"%s"},"spec":{"holderIdentity":"%s","leaseDurationSeconds":40}}`, nodeName, nodeName)},
	} {
		if err := admin.Await(ctx, r); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	return nil
}
