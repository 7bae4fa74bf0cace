package custom_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast.dev/holdfast/internal/waittest"
)

// TestApplyAgain applies a second configuration to an object: one with the same fields and other values, or one with other
// fields. Another manager owns the text too.
func TestApplyAgain(t *testing.T) {
	t.Parallel()
	const group = "again.example.com"
	define(t, group, `{type: object, properties: {num: {type: integer, minimum: 1}, text: {type: string}, free: {type: string, default: d},
		list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k],
			items: {type: object, required: [k], properties: {k: {type: string}, v: {type: string}}}}}}`)
	const first = `{num: 1, text: a, list: [{k: a, v: x}, {k: b, v: w}]}`
	cases := map[string]struct{ old, new, query, want string }{
		"the same":           {"", "", "", "200 map[free:d list:[map[k:a v:x] map[k:b v:w]] num:1 text:a] of [other m]"},
		"another value":      {"num: 1", "num: 2", "", "200 map[free:d list:[map[k:a v:x] map[k:b v:w]] num:2 text:a] of [other m]"},
		"a value of an item": {"v: w", "v: z", "", "200 map[free:d list:[map[k:a v:x] map[k:b v:z]] num:1 text:a] of [other m]"},
		"a dry run": {
			"num: 1", "num: 2", "&dryRun=All",
			"200 map[free:d list:[map[k:a v:x] map[k:b v:w]] num:2 text:a] of [other m]",
		},
		"a field less":     {"num: 1, ", "", "", "200 map[free:d list:[map[k:a v:x] map[k:b v:w]] text:a] of [other m]"},
		"an item less":     {"{k: a, v: x}, ", "", "", "200 map[free:d list:[map[k:b v:w]] num:1 text:a] of [other m]"},
		"a field more":     {"num: 1", "num: 1, free: e", "", "200 map[free:e list:[map[k:a v:x] map[k:b v:w]] num:1 text:a] of [other m]"},
		"an unknown field": {"num: 1", "num: 1, w: e", "", `200 map[free:d list:[map[k:a v:x] map[k:b v:w]] num:1 text:a] of [other m]`},
		"an invalid value": {"num: 1", "num: 0", "", "422"},
		"a wrong type":     {"num: 1", "num: a", "", "400"},
		"a conflict":       {"text: a", "text: b", "", "409"},
		"a forced conflict": {
			"text: a", "text: b", "&force=true",
			"200 map[free:d list:[map[k:a v:x] map[k:b v:w]] num:1 text:b] of [m]",
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name := strings.ReplaceAll(name, " ", "-")
			path := objectsPath(group) + "/" + name
			config := func(spec string) string {
				return strings.Replace(object(group, "v1", spec), "name: o", "name: "+name, 1)
			}
			shared.must(t, http.StatusCreated, apply, path+"?fieldManager=m", config(first))
			shared.must(t, http.StatusOK, apply, path+"?fieldManager=other", config(`{text: a}`))
			again := config(strings.Replace(first, test.old, test.new, 1))
			answer, err := shared.do(apply, path+"?fieldManager=m"+test.query, again)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(answer.code)
			if answer.code == http.StatusOK {
				var managers []string
				for _, entry := range answer.object.GetManagedFields() {
					managers = append(managers, entry.Manager)
				}
				got = fmt.Sprintf("%s %v of %v", got, answer.object.Object["spec"], managers)
			}
			if got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestApplyAgainLater applies the same configuration again in another second. The field manager merges an atomic list without the defaults
// of its items, so its result differs from the stored object until the server sets the defaults.
func TestApplyAgainLater(t *testing.T) {
	t.Parallel()
	const group = "later.example.com"
	version := func(name, storage string) string {
		return `
  - name: ` + name + `
    served: true
    storage: ` + storage + `
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              list: {type: array, items: {type: object, properties: {name: {type: string}, weight: {type: integer, default: 1}}}}
`
	}
	shared.must(t, http.StatusCreated, "POST", definitions, things(group, "\n  versions:"+version("v1", "true")+version("v1alpha1", "false")))
	t.Cleanup(func() { remove(t, definitions+"/things."+group) })
	for _, name := range []string{"v1", "v1alpha1"} {
		path := strings.Replace(objectsPath(group), "/v1/", "/"+name+"/", 1) + "/" + name + "?fieldManager=m"
		config := strings.Replace(object(group, name, "{list: [{name: a}]}"), "name: o", "name: "+name, 1)
		first := shared.must(t, http.StatusCreated, apply, path, config)
		made := first.GetManagedFields()[0].Time.Time
		waittest.Until(t, "another second", func() bool { return time.Since(made) > 2*time.Second })
		second := shared.must(t, http.StatusOK, apply, path, config)
		if first.GetResourceVersion() != second.GetResourceVersion() {
			t.Errorf("%s: the second apply is stored: %v", name, second.GetManagedFields())
		}
	}
}

// TestApplyAgainWithOwners applies another value to an object with two owner references. The owners exist: the garbage collector would
// delete an object without owners, and apply would create it again.
func TestApplyAgainWithOwners(t *testing.T) {
	t.Parallel()
	const group = "owners.again.example.com"
	define(t, group, `{type: object, properties: {num: {type: integer}}}`)
	var owners []string
	for _, name := range []string{"owner-again-a", "owner-again-b"} {
		const configMaps = "/api/v1/namespaces/default/configmaps"
		owner := shared.must(t, http.StatusCreated, "POST", configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}")
		t.Cleanup(func() { remove(t, configMaps+"/"+name) })
		owners = append(owners, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, name: %s, uid: %s}", name, owner.GetUID()))
	}
	shared.must(t, http.StatusCreated, "POST", objectsPath(group), strings.Replace(object(group, "v1", `{num: 1}`),
		"name: o", "name: o, ownerReferences: ["+strings.Join(owners, ", ")+"]", 1))
	for _, num := range []string{"2", "3", "4"} {
		got := shared.must(t, http.StatusOK, apply, objectPath(group)+"?fieldManager=m&force=true", object(group, "v1", "{num: "+num+"}"))
		if text := fmt.Sprint(got.Object["spec"], len(got.GetOwnerReferences())); text != "map[num:"+num+"] 2" {
			t.Errorf("got %s", text)
		}
	}
}
