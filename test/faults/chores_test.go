package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/waittest"
)

// chore is something that a client does again and again, so that the controllers of the server have work.
type chore interface {
	// name is what the controllers do in the end.
	name() string
	// do does it once. It returns the last answer.
	do(ctx context.Context, c *client) answer
	// settle checks what is stored while no client writes.
	settle(ctx context.Context, c *client) error
	// end returns an error until the controllers have done all their work.
	end(ctx context.Context, c *client) error
}

// newChores creates what the chores need.
func newChores(t *testing.T, c *client) []chore {
	t.Helper()
	m := &moving{}
	for _, name := range []string{"movers", "cleaned", "collected"} {
		mustCreate(t, c, "/api/v1/namespaces", fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
	}
	mustCreate(t, c, kinds[4].path, moverDefinition)
	for i := range movers {
		mustCreate(t, c, moversPath, fmt.Sprintf(
			"{apiVersion: move.holdfast.dev/v1, kind: Mover, metadata: {name: m%d}, spec: {value: v%d}}", i, i))
	}
	mustCreate(t, c, "/apis/kudo.dev/v1beta1/namespaces/cleaned/operatorversions", cleanedVersion)
	mustCreate(t, c, "/apis/apps/v1/namespaces/collected/deployments", userOfCollected)
	mustCreate(t, c, collectedPath, collected("used"))
	return []chore{&replacing{}, &emptying{}, m, &cleaning{}, &collecting{}}
}

// objectOf decodes an object.
func objectOf(text string) map[string]any {
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		panic(err) // the texts of this package are YAML
	}
	return object
}

func mustCreate(t *testing.T, c *client, path, text string) {
	t.Helper()
	waittest.Until(t, "the server creates an object in "+path, func() error { return c.create(t.Context(), path, objectOf(text)).err })
}

// await asks until the answer is right, a few seconds have passed, or ctx ends. It returns the last answer.
func await(ctx context.Context, ask func() answer, right func(answer) bool) answer {
	a := ask()
	for end := time.Now().Add(3 * time.Second); ctx.Err() == nil && !right(a) && time.Now().Before(end); a = ask() {
		time.Sleep(20 * time.Millisecond)
	}
	return a
}

func isAbsent(a answer) bool { return a.code == http.StatusNotFound }

var errUnfinished = errors.New("the controllers have work left")

// none returns an error if a list has objects with a prefix.
func none(list answer, prefix string) error {
	if list.err != nil {
		return list.err
	}
	for _, object := range items(list.object) {
		if strings.HasPrefix(nameOf(object), prefix) {
			return fmt.Errorf("%w: %s is there", errUnfinished, nameOf(object))
		}
	}
	return nil
}

// replacing replaces an object by others with the numbers 1, 2, 3 and so on.
type replacing struct{ acknowledged, tried int }

const replacedPath = "/api/v1/namespaces/default/configmaps/numbered"

func (*replacing) name() string { return "the replacement of objects" }

func (r *replacing) do(ctx context.Context, c *client) answer {
	r.tried++
	body := objectOf(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: numbered}, data: {number: "%d"}}`, r.tried))
	a := c.get(ctx, replacedPath)
	switch {
	case isAbsent(a):
		a = c.create(ctx, strings.TrimSuffix(replacedPath, "/numbered"), body)
	case a.outcome == acknowledged:
		// The metadata name the object that is replaced, and its state.
		body["metadata"] = a.object["metadata"]
		a = c.update(ctx, replacedPath+"?holdfast=replace", body)
	default:
		return a
	}
	if a.outcome == acknowledged {
		r.acknowledged = r.tried
	}
	return a
}

func (r *replacing) settle(ctx context.Context, c *client) error {
	a := c.get(ctx, replacedPath)
	if isAbsent(a) && r.acknowledged == 0 {
		return nil
	}
	text, _, _ := unstructured.NestedString(a.object, "data", "number")
	number, err := strconv.Atoi(text)
	if a.err != nil || err != nil || number < r.acknowledged || number > r.tried {
		return fmt.Errorf("the replaced object has the number %q, acknowledged was %d (%w, %w)", text, r.acknowledged, a.err, err)
	}
	return nil
}

func (r *replacing) end(ctx context.Context, c *client) error { return r.settle(ctx, c) }

// emptying deletes owners with their dependents, and whole namespaces.
type emptying struct{ number int }

func (*emptying) name() string { return "the deletion of namespaces" }

func (e *emptying) do(ctx context.Context, c *client) answer {
	e.number++
	name := fmt.Sprintf("gone-%d", e.number)
	path := "/api/v1/namespaces/" + name
	c.create(ctx, "/api/v1/namespaces", objectOf("{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}"))
	for _, policy := range []string{"Orphan", "Foreground", "Background"} {
		owner := c.create(ctx, path+"/configmaps", objectOf("{apiVersion: v1, kind: ConfigMap, metadata: {name: owner-"+strings.ToLower(policy)+"}}"))
		uid, _, _ := unstructured.NestedString(owner.object, "metadata", "uid")
		if uid == "" {
			continue
		}
		c.create(ctx, path+"/secrets", objectOf(fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: of-%s,
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: %s, uid: %s, blockOwnerDeletion: true}]}}`, strings.ToLower(policy), nameOf(owner.object), uid)))
		item := path + "/configmaps/" + nameOf(owner.object)
		c.delete(ctx, item+"?propagationPolicy="+policy)
		await(ctx, func() answer { return c.get(ctx, item) }, isAbsent)
	}
	for range 3 {
		if a := c.delete(ctx, path); a.outcome == acknowledged || isAbsent(a) {
			break
		}
	}
	return await(ctx, func() answer { return c.get(ctx, path) }, isAbsent)
}

func (*emptying) settle(context.Context, *client) error { return nil }

// end deletes the namespaces that a client could not delete.
func (*emptying) end(ctx context.Context, c *client) error {
	list := c.get(ctx, "/api/v1/namespaces")
	err := none(list, "gone-")
	for _, object := range items(list.object) {
		if strings.HasPrefix(nameOf(object), "gone-") {
			c.delete(ctx, "/api/v1/namespaces/"+nameOf(object))
		}
	}
	return err
}

// moving changes the storage version of a definition, and migrates its objects.
type moving struct{ number int }

const (
	movers          = 5
	moversPath      = "/apis/move.holdfast.dev/v1/namespaces/movers/movers"
	moverItem       = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/movers.move.holdfast.dev"
	migrationsPath  = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
	moverDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: movers.move.holdfast.dev}
spec:
  group: move.holdfast.dev
  scope: Namespaced
  names: {plural: movers, kind: Mover}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
)

func (*moving) name() string { return "the migration of objects" }

func (m *moving) do(ctx context.Context, c *client) answer {
	m.number++
	definition := objectOf(moverDefinition)
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	for i, version := range versions {
		version.(map[string]any)["storage"] = i == m.number%2
	}
	c.patch(ctx, moverItem, map[string]any{"spec": map[string]any{"versions": versions}})
	name := fmt.Sprintf("move-%d", m.number)
	c.create(ctx, migrationsPath, objectOf(`{apiVersion: storagemigration.k8s.io/v1, kind: StorageVersionMigration, metadata: {name: `+name+`},
  spec: {resource: {group: move.holdfast.dev, resource: movers}}}`))
	ended := func(a answer) bool { return isAbsent(a) || hasSucceeded(a.object) }
	await(ctx, func() answer { return c.get(ctx, migrationsPath+"/"+name) }, ended)
	return c.delete(ctx, migrationsPath+"/"+name)
}

// hasSucceeded reports whether a migration has succeeded.
func hasSucceeded(migration map[string]any) bool {
	conditions, _, _ := unstructured.NestedSlice(migration, "status", "conditions")
	return slices.ContainsFunc(conditions, func(one any) bool {
		condition, _ := one.(map[string]any)
		return condition["type"] == "Succeeded" && condition["status"] == "True"
	})
}

func (*moving) settle(ctx context.Context, c *client) error {
	list := c.get(ctx, moversPath)
	found := items(list.object)
	if list.err != nil || len(found) != movers {
		return fmt.Errorf("%d migrated objects, want %d (%w)", len(found), movers, list.err)
	}
	for _, object := range found {
		value, _, _ := unstructured.NestedString(object, "spec", "value")
		if want := "v" + nameOf(object)[1:]; value != want {
			return fmt.Errorf("the migrated object %s has %q, want %q", nameOf(object), value, want)
		}
	}
	return nil
}

func (m *moving) end(ctx context.Context, c *client) error {
	m.do(ctx, c)
	stored, _, _ := unstructured.NestedStringSlice(c.get(ctx, moverItem).object, "status", "storedVersions")
	if len(stored) != 1 {
		return fmt.Errorf("%w: objects are stored in the versions %v", errUnfinished, stored)
	}
	return m.settle(ctx, c)
}

// cleaning creates Instances with a cleanup plan, and deletes them.
type cleaning struct{ number int }

const (
	cleanedPath    = "/apis/kudo.dev/v1beta1/namespaces/cleaned/instances"
	cleanedVersion = `
apiVersion: kudo.dev/v1beta1
kind: OperatorVersion
metadata: {name: cleaned-0.1.0, namespace: cleaned}
spec:
  operator: {name: cleaned}
  version: 0.1.0
  templates: {a.yaml: "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Name }}-a'}}"}
  tasks:
  - {name: a, kind: Apply, spec: {resources: [a.yaml]}}
  - {name: remove, kind: Delete, spec: {resources: [a.yaml]}}
  plans:
    deploy: {phases: [{name: main, steps: [{name: a, tasks: [a]}]}]}
    cleanup: {phases: [{name: main, steps: [{name: remove, tasks: [remove]}]}]}
`
)

func (*cleaning) name() string { return "the cleanup of Instances" }

func (l *cleaning) do(ctx context.Context, c *client) answer {
	l.number++
	path := fmt.Sprintf("%s/i%d", cleanedPath, l.number)
	c.create(ctx, cleanedPath, objectOf(fmt.Sprintf(
		"{apiVersion: kudo.dev/v1beta1, kind: Instance, metadata: {name: i%d}, spec: {operatorVersion: {name: cleaned-0.1.0}}}", l.number)))
	hasFinalizer := func(a answer) bool {
		finalizers, _, _ := unstructured.NestedStringSlice(a.object, "metadata", "finalizers")
		return isAbsent(a) || len(finalizers) > 0
	}
	await(ctx, func() answer { return c.get(ctx, path) }, hasFinalizer)
	c.delete(ctx, path)
	return await(ctx, func() answer { return c.get(ctx, path) }, isAbsent)
}

func (*cleaning) settle(context.Context, *client) error { return nil }

// end deletes the Instances that a client could not delete.
func (*cleaning) end(ctx context.Context, c *client) error {
	list := c.get(ctx, cleanedPath)
	for _, object := range items(list.object) {
		c.delete(ctx, cleanedPath+"/"+nameOf(object))
	}
	return none(list, "i")
}

// collecting creates immutable ConfigMaps that no object refers to, and waits until the server collects them. It must leave another one, to
// which a Deployment refers.
type collecting struct{ number int }

const (
	collectedPath   = "/api/v1/namespaces/collected/configmaps"
	userOfCollected = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: user}
spec:
  selector: {matchLabels: {app: user}}
  template:
    metadata: {labels: {app: user}}
    spec: {containers: [{name: main, image: main, envFrom: [{configMapRef: {name: used}}]}]}
`
)

// collected returns a ConfigMap that the server collects as soon as no object refers to it.
func collected(name string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name +
		", labels: {holdfast.dev/collect: unused}, annotations: {holdfast.dev/collect-after: 0s}}, immutable: true}"
}

func (*collecting) name() string { return "the collection of unused objects" }

func (l *collecting) do(ctx context.Context, c *client) answer {
	l.number++
	name := fmt.Sprintf("unused-%d", l.number)
	c.create(ctx, collectedPath, objectOf(collected(name)))
	return await(ctx, func() answer { return c.get(ctx, collectedPath+"/"+name) }, isAbsent)
}

func (*collecting) settle(ctx context.Context, c *client) error {
	if a := c.get(ctx, collectedPath+"/used"); a.err != nil {
		return fmt.Errorf("the ConfigMap in use: %w", a.err)
	}
	return nil
}

func (*collecting) end(ctx context.Context, c *client) error {
	return none(c.get(ctx, collectedPath), "unused-")
}
