package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

// bargesDefinition has an annotation of which only the first line is valid.
const bargesDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"barges.example.com","annotations":{"holdfast.dev/immutability":
"immutable spec.length\nimmutable-keys spec.holds\nimmutable spec.lenght\nfrozen spec\nv2: immutable spec.length"}},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"barges","singular":"barge","kind":"Barge"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
"properties":{"length":{"type":"integer"},"holds":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}}}}}}}}]}}`

// barge is an object of the definition.
const barge = `{"apiVersion":"example.com/v1","kind":"Barge","metadata":{"name":"scow","namespace":"default"},` +
	`"spec":{"length":9,"holds":[{"name":"a"}]}}`

// compareAnnotations creates a definition with wrong rules. Our server refuses it. The guard names the same errors in an Event, and
// enforces exactly the other rules.
func (t *trial) compareAnnotations(ctx context.Context, clusters []*cluster) error {
	ours, guarded := clusters[0], clusters[1]
	create := side.Request{
		Method: http.MethodPost, Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Body: []byte(bargesDefinition),
	}
	refused, err := outcomeOf(ours.client.Do(ctx, create))
	if err != nil {
		return err
	}
	var causes []string
	for _, c := range refused.causes {
		causes = append(causes, c.Field+": "+c.Message)
	}
	want := strings.Join(causes, "; ")
	accepted, err := outcomeOf(guarded.client.Do(ctx, create))
	if err != nil {
		return err
	}
	if refused.accepted || want == "" || !accepted.accepted {
		return fmt.Errorf("a definition with wrong rules: our server answers %s, kube-apiserver %s", refused, accepted)
	}
	if err := t.awaitEvent(ctx, guarded, want); err != nil {
		return err
	}
	file, err := t.write("barge.json", barge)
	if err != nil {
		return err
	}
	if err := t.await(ctx, guarded, func(o outcome) bool { return o.accepted }, "create", "-f", file); err != nil {
		return err
	}
	patch := func(text string) []string {
		return []string{"patch", "barge", "scow", "--type=merge", "--dry-run=server", "-p", text}
	}
	if err := t.await(ctx, guarded, isRefusal, patch(`{"spec":{"length":8}}`)...); err != nil {
		return err
	}
	if err := t.must(ctx, guarded, t.Kubectl, patch(`{"spec":{"holds":[{"name":"b"}]}}`)...); err != nil {
		return err
	}
	t.printf("a definition with wrong rules: our server refuses it, and an Event of the guard has the same %d causes", len(causes))
	return nil
}

// awaitEvent waits until the guard has recorded an Event about the definition.
func (t *trial) awaitEvent(ctx context.Context, c *cluster, message string) error {
	path := "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=barges.example.com,reason=RuleWithoutEffect"
	var found struct{ Items []struct{ Message string } }
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		text, err := c.client.Do(ctx, side.Request{Method: http.MethodGet, Path: path})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &found); err != nil {
			return err
		}
		if len(found.Items) > 0 {
			if found.Items[0].Message != message {
				return fmt.Errorf("the Event of the guard is\n%s\nour server answers\n%s", found.Items[0].Message, message)
			}
			return nil
		}
	}
	return fmt.Errorf("the guard recorded no Event about a definition with wrong rules: %s", message)
}
