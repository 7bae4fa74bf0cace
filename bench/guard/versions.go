package guard

import (
	"context"
	"fmt"
	"net/http"

	"holdfast.dev/holdfast/bench/side"
)

// boatPath returns the path of the boat in a version.
func boatPath(version string) string {
	return "/apis/example.com/" + version + "/namespaces/default/boats/sloop"
}

// patchBoat changes the boat with a merge patch.
func patchBoat(ctx context.Context, c *cluster, version, patch string) (outcome, error) {
	answer, err := c.client.Do(ctx, side.Request{
		Method: http.MethodPatch, Path: boatPath(version), ContentType: mergePatch, Body: []byte(patch),
	})
	return outcomeOf(answer, err)
}

// compareVersions writes a boat in both versions. Version v1 does not have the field that v2 marks: our server keeps its value,
// kube-apiserver drops it, and so the guard refuses the write.
func (t *trial) compareVersions(ctx context.Context, clusters []*cluster) error {
	// Nothing protects boats on the third cluster.
	ours, guarded, unguarded := clusters[0], clusters[1], clusters[2]
	definition, err := t.write("boats.yaml", boatsDefinition)
	if err != nil {
		return err
	}
	boat, err := t.write("boat.json",
		`{"apiVersion":"example.com/v2","kind":"Boat","metadata":{"name":"sloop"},"spec":{"colour":"red","rigging":"gaff"}}`)
	if err != nil {
		return err
	}
	for _, c := range []*cluster{ours, guarded, unguarded} {
		for _, args := range [][]string{
			{"apply", "-f", definition}, {"wait", "--for=condition=Established", "crd/boats.example.com"}, {"create", "-f", boat},
		} {
			if err := t.must(ctx, c, t.Kubectl, args...); err != nil {
				return err
			}
		}
	}
	change := []string{"patch", "boats.v2.example.com", "sloop", "--type=merge", "-p", `{"spec":{"rigging":"lug"}}`, "--dry-run=server"}
	if err := t.await(ctx, guarded, isRefusal, change...); err != nil {
		return err
	}
	for _, write := range []struct{ version, patch string }{
		{"v1", `{"metadata":{"labels":{"a":"b"}}}`},
		{"v1", `{"spec":{"colour":"blue"}}`},
		{"v2", `{"spec":{"colour":"blue"}}`},
		{"v2", `{"spec":{"rigging":"lug"}}`},
		{"v2", `{"spec":{"rigging":null,"colour":"red"}}`},
	} {
		of := map[string]outcome{}
		for _, c := range []*cluster{ours, guarded} {
			if of[c.name], err = patchBoat(ctx, c, write.version, write.patch); err != nil {
				return err
			}
		}
		what := "boat in " + write.version + ": " + write.patch
		if err := t.explain(difference{cluster: webhook, write: what, ours: of[holdfast], theirs: of[webhook]}); err != nil {
			return err
		}
	}
	// The reason of the exception.
	if _, err := patchBoat(ctx, unguarded, "v1", `{"spec":{"colour":"blue"}}`); err != nil {
		return err
	}
	for c, want := range map[*cluster]any{ours: "gaff", guarded: "gaff", unguarded: nil} {
		found, err := read(ctx, c, boatPath("v2"))
		if err != nil {
			return err
		}
		if spec, _ := found["spec"].(object); spec["rigging"] != want {
			return fmt.Errorf("%s: after writes in v1, the boat is %v, want rigging %v", c.name, spec, want)
		}
	}
	t.printf("writes in a version without a marked field: our server keeps its value, and the guard refuses the write")
	return nil
}
