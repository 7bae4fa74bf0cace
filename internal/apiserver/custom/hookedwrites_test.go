package custom_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestHookedWrites writes objects that a mutating webhook changes, with a definition of one version and with one of two. The
// library handles all writes of the second one. The outcomes are the same, and each write asks the webhook once.
func TestHookedWrites(t *testing.T) {
	t.Parallel()
	const one, two = "one.hooked.example.com", "two.hooked.example.com"
	const schema = `{type: object, properties: {num: {type: integer}}}`
	define(t, one, schema)
	definition := thing(two, schema)
	_, v1, _ := strings.Cut(definition, "versions:\n")
	v2 := strings.NewReplacer("name: v1", "name: v2", "storage: true", "storage: false").Replace(v1)
	shared.must(t, http.StatusCreated, "POST", definitions, definition+v2)
	t.Cleanup(func() { remove(t, definitions+"/things."+two) })
	hooks := map[string]*admissionHook{one: {}, two: {}}
	for group, hook := range hooks {
		register(t, "MutatingWebhookConfiguration", group, hook)
	}

	const owner = `{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}`
	owners := func(list string) string {
		return `[{"op": "add", "path": "/metadata/ownerReferences", "value": [` + list + `]}]`
	}
	managers := func(value string) string {
		return `[{"op": "replace", "path": "/metadata/managedFields", "value": ` + value + `}]`
	}
	cases := map[string]struct {
		// verb is create or patch.
		verb, hook, kind string
	}{
		"create":                   {verb: "create"},
		"create, another kind":     {verb: "create", kind: "Other"},
		"create, no managers":      {verb: "create", hook: managers(`[]`)},
		"create, invalid managers": {verb: "create", hook: managers(`[{"manager": "x"}]`)},
		"create, an owner twice":   {verb: "create", hook: owners(owner + "," + owner)},
		"patch":                    {verb: "patch"},
		"patch, no managers":       {verb: "patch", hook: managers(`[]`)},
		"patch, invalid managers":  {verb: "patch", hook: managers(`[{"manager": "x"}]`)},
		"patch, an owner":          {verb: "patch", hook: owners(owner)},
		"patch, two owners":        {verb: "patch", hook: owners(owner + "," + strings.Replace(owner, `"u"`, `"w"`, 1))},
		"patch, an owner twice":    {verb: "patch", hook: owners(owner + "," + owner)},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			outcomes := map[string]string{}
			for group, hook := range hooks {
				hook.set("")
				short := strings.NewReplacer(",", "", " ", "-").Replace(name)
				created := strings.Replace(object(group, "v1", `{num: 1}`), "name: o", "name: "+short, 1)
				method, path, body := "POST", objectsPath(group)+"?fieldManager=m", created
				if test.kind != "" {
					body = strings.Replace(created, "Thing", test.kind, 1)
				}
				if test.verb == "patch" {
					shared.must(t, http.StatusCreated, method, path, created)
					method, path, body = merge, objectsPath(group)+"/"+short+"?fieldManager=m", `{spec: {num: 2}}`
				}
				hook.set(test.hook)
				answer, err := shared.do(method, path, body)
				if err != nil {
					t.Fatal(err)
				}
				managers, _, err := unstructured.NestedFieldNoCopy(answer.object.Object, "metadata", "managedFields")
				if err != nil {
					t.Fatal(err)
				}
				outcome := fmt.Sprintf("%s, spec %v, owners %v, managers %v, has managers: %v, webhook saw managers: %v, calls: %d", answer.text(),
					answer.object.Object["spec"], answer.object.GetOwnerReferences(), managersIn(answer), managers != nil,
					strings.Contains(hook.last(), "managedFields"), hook.count())
				outcomes[group] = strings.ReplaceAll(outcome, group, "group")
			}
			if diff := gocmp.Diff(outcomes[two], outcomes[one]); diff != "" {
				t.Errorf("-library +got:\n%s", diff)
			}
			if !strings.HasSuffix(outcomes[one], "calls: 1") {
				t.Errorf("got %s", outcomes[one])
			}
		})
	}
}

// managersIn describes the managed fields in an answer, in their order. Of the times it has only whether they are old.
func managersIn(a answer) []string {
	var managers []string
	for _, entry := range a.object.GetManagedFields() {
		isOld := entry.Time != nil && entry.Time.Year() == 2020
		managers = append(managers, fmt.Sprintf("%s %s %s, old: %v", entry.Manager, entry.Operation, entry.FieldsV1, isOld))
	}
	return managers
}
