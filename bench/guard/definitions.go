package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/bench/side"
)

const (
	definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	docksPath       = definitionsPath + "/docks.example.com"
	jsonPatch       = "application/json-patch+json"
)

// docks returns a definition with two versions, and with the properties of spec in both.
func docks(policy, properties string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"docks.example.com","annotations":{"holdfast.dev/definition-policy":%q}},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"docks","singular":"dock","kind":"Dock","listKind":"DockList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
"properties":{%[2]s}}}}}},{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":
{"type":"object","properties":{%[2]s}}}}}}]}}`, policy, properties)
}

const (
	dockA   = `"a":{"type":"string"}`
	dockB   = `"b":{"type":"string"}`
	dockC   = `"c":{"type":"array","items":{"type":"string"}}`
	aShort  = `"a":{"type":"string","maxLength":1}`
	dockSet = `"c":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}`
)

// definitionChange is a change of the definition. It is a dry run, unless it is stored.
type definitionChange struct {
	what, as, method, body string
	// content is the media type, JSON if it is empty.
	content string
	status  bool
	stored  bool
	// differs is why the answers are not the same. It is empty if they are.
	differs string
}

// policyPatch returns a merge patch that sets the policy.
func policyPatch(policy string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{"holdfast.dev/definition-policy":%s}}}`, policy)
}

// definitionChanges returns the changes of one run, in their order.
func definitionChanges() []definitionChange {
	all := strings.Join([]string{dockA, dockB, dockC}, ",")
	const (
		removeB  = `[{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b"}]`
		removeB2 = `[{"op":"remove","path":"/spec/versions/1/schema/openAPIV3Schema/properties/spec/properties/b"}]`
		require  = `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/required","value":["a"]}]`
		addD     = `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/d","value":{"type":"string"}}]`
		hide     = `[{"op":"replace","path":"/spec/versions/1/served","value":false}]`
		gone     = `[{"op":"remove","path":"/spec/versions/0"},{"op":"replace","path":"/spec/versions/0/storage","value":true}]`
		store    = `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`
	)
	patch := func(what, as, body string) definitionChange {
		return definitionChange{what: what, as: as, method: http.MethodPatch, content: jsonPatch, body: body}
	}
	merge := func(what, as, body string) definitionChange {
		return definitionChange{what: what, as: as, method: http.MethodPatch, content: mergePatch, body: body}
	}
	keep := func(c definitionChange) definitionChange {
		c.stored = true
		return c
	}
	var out []definitionChange
	for _, as := range []string{"", "eve", "fay"} { // eve may change definitions, and fay may also loosen them and list docks
		out = append(out,
			patch("a field goes", as, removeB), patch("a field of another version goes", as, removeB2), patch("a field is required", as, require),
			patch("a new field", as, addD), patch("a version is not served", as, hide), patch("a stored version goes", as, gone),
			definitionChange{what: "apply", as: as, method: http.MethodPatch, content: applyPatch, body: docks("refuse-loss", dockA+","+dockC)},
			definitionChange{what: "put", as: as, method: http.MethodPut, body: docks("refuse-loss", strings.Replace(all, dockA, aShort, 1))},
			definitionChange{what: "keys", as: as, method: http.MethodPut, body: docks("refuse-breaking", strings.Replace(all, dockC, dockSet, 1))},
			merge("an unknown policy", as, policyPatch(`"never"`)), merge("no policy", as, policyPatch("null")), merge("a label", as, `{"metadata":{"labels":{"a":"b"}}}`),
		)
	}
	strong := slices.Clone(out)
	for i := range strong {
		strong[i].what += ", with refuse-breaking"
	}
	out = append(out, keep(merge("refuse-breaking", "eve", policyPatch(`"refuse-breaking"`))))
	out = append(out, strong...)
	const shorten = `{"status":{"storedVersions":["v2"]}}`
	seen := merge("the stored versions", "fay", shorten)
	seen.status, seen.differs = true, "the API does not show in which version an object is stored"
	warned := patch("a field goes, with warn", "fay", removeB)
	warned.differs = "the API server does not ask the guard about a definition with warn"
	return append(out, keep(patch("another storage version", "fay", store)), seen, keep(merge("warn", "fay", policyPatch(`"warn"`))), warned)
}

// send makes the change on a cluster, and returns the answer: the status, the message, the causes and the warnings.
func (d definitionChange) send(ctx context.Context, c *cluster) (string, error) {
	path, query := docksPath, "?fieldManager=bench"
	if d.status {
		path += "/status"
	}
	if !d.stored {
		query += "&dryRun=All"
	}
	if d.content == applyPatch {
		query += "&force=true"
	}
	body := []byte(d.body)
	if d.method == http.MethodPut {
		found, err := read(ctx, c, docksPath)
		if err != nil {
			return "", err
		}
		next, err := decode(body)
		if err != nil {
			return "", err
		}
		next["metadata"].(object)["resourceVersion"] = found["metadata"].(object)["resourceVersion"]
		if body, err = json.Marshal(next); err != nil {
			return "", err
		}
	}
	request, err := http.NewRequestWithContext(ctx, d.method, c.client.URL+path+query, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if d.content != "" {
		request.Header.Set("Content-Type", d.content)
	}
	if d.as != "" {
		request.Header.Set("Impersonate-User", d.as)
	}
	answer, err := c.client.HTTP.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	var status struct {
		Message string
		Reason  string
		Details json.RawMessage
	}
	if answer.StatusCode/100 != 2 {
		if err := json.Unmarshal(text, &status); err != nil {
			return "", fmt.Errorf("%s: %w", text, err)
		}
	}
	return fmt.Sprintf("%d %s %s %s %q", answer.StatusCode, status.Reason, webhookPrefix.ReplaceAllString(status.Message, ""), status.Details,
		answer.Header.Values("Warning")), nil
}

// compareDefinitions makes the same changes of a definition with objects on our server and on the cluster with the guard.
func (t *trial) compareDefinitions(ctx context.Context, ours, guarded *cluster) error {
	for _, c := range []*cluster{ours, guarded} {
		if err := t.prepareDefinitions(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	changes, refused := definitionChanges(), 0
	var failed []error
	for _, d := range changes {
		var answers [2]string
		for i, c := range []*cluster{ours, guarded} {
			var err error
			if answers[i], err = d.send(ctx, c); err != nil {
				return fmt.Errorf("%s: %s: %w", c.name, d.what, err)
			}
		}
		if strings.HasPrefix(answers[1], "422") || strings.HasPrefix(answers[1], "403") {
			refused++
		}
		if (answers[0] == answers[1]) != (d.differs == "") {
			failed = append(failed, fmt.Errorf("%s as %q\nour server: %s\nguard: %s", d.what, d.as, answers[0], answers[1]))
		}
	}
	t.printf("%d changes of a definition on 2 clusters, of which the guard refuses %d", len(changes), refused)
	if refused < len(changes)/3 {
		failed = append(failed, errors.New("the changes of a definition compare too little"))
	}
	return errors.Join(failed...)
}

// prepareDefinitions creates the definition, its objects and users, and waits until the definition is judged.
func (t *trial) prepareDefinitions(ctx context.Context, c *cluster) error {
	post := func(path, body string) error {
		return c.client.Await(ctx, side.Request{Method: http.MethodPost, Path: path, Body: []byte(body)})
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	more := map[string]string{"eve": "", "fay": `,{"apiGroups":["apiextensions.k8s.io"],"resources":["customresourcedefinitions"],"verbs":["loosen"]},` +
		`{"apiGroups":["example.com"],"resources":["docks"],"verbs":["list"]}`}
	for user, rules := range more {
		err := errors.Join(
			post(rbac+"clusterroles", fmt.Sprintf(`{"metadata":{"name":%q},"rules":[{"apiGroups":["apiextensions.k8s.io"],"resources":`+
				`["customresourcedefinitions","customresourcedefinitions/status"],"verbs":["get","update","patch"]}%s]}`, user, rules)),
			post(rbac+"clusterrolebindings", fmt.Sprintf(`{"metadata":{"name":%[1]q},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",`+
				`"name":%[1]q},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":%[1]q}]}`, user)),
		)
		if err != nil {
			return err
		}
	}
	if err := post(definitionsPath, docks("refuse-loss", strings.Join([]string{dockA, dockB, dockC}, ","))); err != nil {
		return err
	}
	for name, spec := range map[string]string{"one": `{"a":"x","b":"z"}`, "two": `{"a":"xx","c":["p","p"]}`, "three": `{"b":"z"}`} {
		body := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Dock","metadata":{"name":%q},"spec":%s}`, name, spec)
		if err := post("/apis/example.com/v1/namespaces/default/docks", body); err != nil {
			return err
		}
	}
	judged := definitionChange{what: "probe", as: "eve", method: http.MethodPatch, content: mergePatch, body: policyPatch("null")}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		answer, err := judged.send(ctx, c)
		switch {
		case err != nil:
			return err
		case strings.Contains(answer, "may not loosen"):
			return nil
		case time.Now().After(end):
			return fmt.Errorf("the definition is not judged: %s", answer)
		}
	}
}
