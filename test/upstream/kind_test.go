package upstream_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"holdfast.dev/holdfast/internal/native"
)

// kindRun compares one version of one kind.
type kindRun struct {
	*comparison
	kind     native.Kind
	version  schema.GroupVersion
	schema   *spec.Schema
	generate *generator
	columns  []string
	// stages are the subresources that update objects.
	stages []string
}

func (c *comparison) compareKind(kind native.Kind, version schema.GroupVersion) {
	run := &kindRun{comparison: c, kind: kind, version: version}
	obj, err := c.ours.scheme.New(version.WithKind(kind.Name()))
	if err != nil {
		c.t.Fatal(err)
	}
	run.schema = c.models[obj.(interface{ OpenAPIModelName() string }).OpenAPIModelName()]
	if run.schema == nil {
		c.t.Fatalf("%s has no schema", kind.Name())
	}
	hash := fnv.New64()
	_, _ = hash.Write([]byte(version.String() + kind.Name()))
	run.generate = &generator{Rand: rand.New(rand.NewPCG(1, hash.Sum64())), models: c.models}
	run.compareProperties()
	run.compareManifests(run.tree)
	run.compareGenerated(run.compareManifests(run.base))
}

// name returns the name of the kind, with the version if it is not the first one.
func (r *kindRun) name() string {
	if r.version != r.kind.GroupVersion {
		return r.kind.Name() + "." + r.version.String()
	}
	return r.kind.Name()
}

func (r *kindRun) request(stage string, object, old manifest) request {
	q := request{APIVersion: r.version.String(), Kind: r.kind.Name(), Stage: stage}
	q.Object, _ = json.Marshal(object)
	if old != nil {
		q.Old, _ = json.Marshal(old)
	}
	return q
}

// compareProperties compares what does not depend on an object.
func (r *kindRun) compareProperties() {
	q := request{APIVersion: r.version.String(), Kind: r.kind.Name(), Stage: "kind"}
	our, their := r.ours.ask(q), r.askOracle(q)
	if their.Properties == nil || our.Properties == nil {
		r.t.Fatalf("%s: no properties: %s %s", r.kind.Name(), our.Failure, their.Failure)
	}
	var found []difference
	add := func(path, our, their string) {
		if our != their {
			found = append(found, difference{Aspect: "property", Path: path, Ours: our, Theirs: their})
		}
	}
	o, t := our.Properties, their.Properties
	add("namespaced", fmt.Sprint(o.Namespaced), fmt.Sprint(t.Namespaced))
	add("createOnUpdate", fmt.Sprint(o.CreateOnUpdate), fmt.Sprint(t.CreateOnUpdate))
	add("unconditionalUpdate", fmt.Sprint(o.UnconditionalUpdate), fmt.Sprint(t.UnconditionalUpdate))
	add("dependents", o.Dependents, t.Dependents)
	for i := range max(len(o.Columns), len(t.Columns)) {
		var ourColumn, theirColumn string
		if i < len(o.Columns) {
			ourColumn = fmt.Sprintf("%s %s %s %d", o.Columns[i].Name, o.Columns[i].Type, o.Columns[i].Format, o.Columns[i].Priority)
		}
		if i < len(t.Columns) {
			theirColumn = fmt.Sprintf("%s %s %s %d", t.Columns[i].Name, t.Columns[i].Type, t.Columns[i].Format, t.Columns[i].Priority)
			r.columns = append(r.columns, t.Columns[i].Name)
		}
		add(fmt.Sprintf("column %d", i), ourColumn, theirColumn)
	}
	for name, paths := range t.ResetFields {
		add("resetFields "+name, strings.Join(o.ResetFields[name], " "), strings.Join(paths, " "))
		if name != "" && r.ours.kinds[r.kind.Name()].strategy(name) != nil {
			r.stages = append(r.stages, name)
		}
	}
	slices.Sort(r.stages)
	r.judge(r.name(), q, found)
}

// compareManifests compares creations of manifests. It returns the objects that Kubernetes would
// store.
func (r *kindRun) compareManifests(corpus map[string][]manifest) []manifest {
	var accepted []manifest
	for _, object := range corpus[r.version.String()+" "+r.kind.Name()] {
		if stored := r.compare("create", r.complete(object), nil); stored != nil {
			accepted = append(accepted, stored)
		}
	}
	return accepted
}

// older are the versions in which Kubernetes 1.36 serves kinds that have a newer version since.
// The fields are the same.
var older = map[string]string{
	"certificates.k8s.io/v1 ClusterTrustBundle": "certificates.k8s.io/v1beta1",
	"resource.k8s.io/v1 DeviceTaintRule":        "resource.k8s.io/v1beta2",

	"storagemigration.k8s.io/v1 StorageVersionMigration": "storagemigration.k8s.io/v1beta1",
}

// askOracle asks the oracle in a version that it knows.
func (r *kindRun) askOracle(q request) answer {
	version, ok := older[q.APIVersion+" "+q.Kind]
	if !ok {
		return r.theirs.ask(q)
	}
	replace := func(text json.RawMessage) json.RawMessage {
		return bytes.ReplaceAll(text, []byte(`"apiVersion":"`+q.APIVersion+`"`), []byte(`"apiVersion":"`+version+`"`))
	}
	q.APIVersion, q.Object, q.Old = version, replace(q.Object), replace(q.Old)
	return r.theirs.ask(q)
}

// named returns an object with the metadata that the server takes from the URL of an update and
// from the stored object.
func named(object, old manifest) manifest {
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		meta = manifest{}
		object["metadata"] = meta
	}
	for _, field := range []string{"name", "namespace", "uid", "creationTimestamp", "resourceVersion"} {
		if value, ok := old["metadata"].(map[string]any)[field]; ok {
			meta[field] = value
		}
	}
	return object
}

// complete returns an object as the server gets it: with a name, a namespace and the fields of
// metadata that the server sets first.
func (r *kindRun) complete(object manifest) manifest {
	object = clone(object)
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		meta = manifest{}
		object["metadata"] = meta
	}
	if _, ok := meta["name"]; !ok {
		meta["name"] = "web"
	}
	if r.kind.Scope == native.Namespaced {
		meta["namespace"] = "shop"
	} else {
		delete(meta, "namespace")
	}
	if r.kind.Name() == "Service" {
		allocate(object)
	}
	meta["uid"], meta["creationTimestamp"] = "11111111-2222-3333-4444-555555555555", "2024-01-02T03:04:05Z"
	return object
}

// allocate sets the fields of a Service that the server allocates before it validates.
func allocate(object manifest) {
	spec, ok := object["spec"].(map[string]any)
	if !ok || spec["type"] == "ExternalName" {
		return
	}
	if _, ok := spec["clusterIP"]; !ok {
		spec["clusterIP"] = "10.96.0.10"
	}
	if _, ok := spec["clusterIPs"]; !ok {
		spec["clusterIPs"] = []any{spec["clusterIP"]}
	}
	if _, ok := spec["ipFamilies"]; !ok {
		spec["ipFamilies"] = []any{"IPv4"}
	}
	if _, ok := spec["ipFamilyPolicy"]; !ok {
		spec["ipFamilyPolicy"] = "SingleStack"
	}
	if _, ok := spec["healthCheckNodePort"]; !ok && spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local" {
		spec["healthCheckNodePort"] = 31000
	}
}

// compareGenerated compares generated changes of accepted objects.
func (r *kindRun) compareGenerated(accepted []manifest) {
	if len(accepted) == 0 {
		r.t.Errorf("testdata/manifests has no valid manifest of %s %s", r.version, r.kind.Name())
	}
	base := slices.Clone(accepted)
	all := func(string) bool { return true }
	for round := range r.rounds {
		var object manifest
		switch {
		case len(base) == 0 || round%10 == 9:
			object = r.generate.object(r.schema, "", 0).(manifest)
			object["apiVersion"], object["kind"] = r.version.String(), r.kind.Name()
		default:
			object = r.generate.mutate(pick(r.generate.Rand, base), r.schema, 1+r.generate.IntN(3)/2, all)
		}
		object = r.complete(object)
		if stored := r.compare("create", object, nil); stored != nil {
			accepted = append(accepted, stored)
		}
		if len(accepted) == 0 {
			continue
		}
		old := clone(pick(r.generate.Rand, accepted))
		old["metadata"].(manifest)["resourceVersion"] = "7"
		r.compare("update", r.generate.mutate(old, r.schema, 1+r.generate.IntN(2), all), old)
		for _, stage := range r.stages {
			isPart := func(field string) bool {
				return field == "status" == !slices.Contains([]string{"ephemeralcontainers", "resize", "finalize"}, stage)
			}
			stored := named(r.generate.mutate(old, r.schema, r.generate.IntN(3), isPart), old)
			touch := isPart
			if r.generate.IntN(4) == 0 {
				touch = all
			}
			r.compare(stage, r.generate.mutate(stored, r.schema, 1+r.generate.IntN(2), touch), stored)
		}
	}
}

// compare compares one write. It returns the object that Kubernetes would store, or nil if
// Kubernetes rejects the write.
func (r *kindRun) compare(stage string, object, old manifest) manifest {
	if old != nil {
		object = named(object, old)
	}
	q := r.request(stage, object, old)
	their := r.askOracle(q)
	if len(their.Unknown) > 0 {
		r.unknown++
		return nil
	}
	our := r.ours.ask(q)
	r.judge(r.name(), q, compareAnswers(our, their, r.columns))
	if their.Failure != "" || len(their.Errors) > 0 {
		return nil
	}
	var stored manifest
	if err := json.Unmarshal(their.Stored, &stored); err != nil {
		r.t.Fatal(err)
	}
	stored["apiVersion"], stored["kind"] = r.version.String(), r.kind.Name()
	return stored
}
