package builtin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/native"
	"holdfast.dev/holdfast/internal/yamltest"
)

// isImmutable is the error for a change of a field in an immutable ConfigMap or Secret.
const isImmutable = "Forbidden: field is immutable when `immutable` is set"

// content sends requests for one ConfigMap or Secret.
type content struct {
	client   kubernetes.Interface
	resource string
}

func (c content) create(t testing.TB, name, document string) error {
	t.Helper()
	request := c.client.CoreV1().RESTClient().Post().Namespace("default").Resource(c.resource)
	return request.Body(named(t, name, document)).SetHeader("Content-Type", "application/json").Do(t.Context()).Error()
}

func (c content) put(t testing.TB, name, document string) error {
	t.Helper()
	request := c.client.CoreV1().RESTClient().Put().Namespace("default").Resource(c.resource).Name(name)
	return request.Body(named(t, name, document)).SetHeader("Content-Type", "application/json").Do(t.Context()).Error()
}

func (c content) merge(t testing.TB, name, document string) error {
	t.Helper()
	patch := yamltest.JSON(t, document)
	return c.client.CoreV1().RESTClient().Patch(types.MergePatchType).Namespace("default").Resource(c.resource).Name(name).
		Body(patch).Do(t.Context()).Error()
}

func (c content) apply(t testing.TB, name, document string) error {
	t.Helper()
	return c.client.CoreV1().RESTClient().Patch(types.ApplyPatchType).Namespace("default").Resource(c.resource).Name(name).
		Param("fieldManager", "other").Param("force", "true").Body(named(t, name, document)).Do(t.Context()).Error()
}

// named returns a document as JSON, with apiVersion and a name.
func named(t testing.TB, name, document string) []byte {
	t.Helper()
	obj := yamltest.Map(t, document)
	metadata, _ := obj["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		obj["metadata"] = metadata
	}
	metadata["name"] = name
	if obj["kind"] == nil {
		t.Fatalf("no kind in %s", document)
	}
	obj["apiVersion"] = "v1"
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestImmutableContent sends each kind of write to ConfigMaps and Secrets with immutable: true.
func TestImmutableContent(t *testing.T) {
	t.Parallel()
	client := servertest.Start(t, apiserver.Config{}).Client(t)
	const (
		configMap        = "{kind: ConfigMap, immutable: true, data: {a: '1'}, binaryData: {b: AAEC}}"
		emptyConfigMap   = "{kind: ConfigMap, immutable: true}"
		mutableConfigMap = "{kind: ConfigMap, immutable: false, data: {a: '1'}}"
		secret           = "{kind: Secret, immutable: true, data: {a: MQ==, b: Mg==}}"
		mutableSecret    = "{kind: Secret, data: {a: MQ==}}"
		configMapAnswer  = `ConfigMap "NAME" is invalid: `
		secretAnswer     = `Secret "NAME" is invalid: `
	)
	half := strings.Repeat("x", 1<<19)
	tests := map[string]struct {
		// old is created first; then document is sent by the verb how.
		old, how, document string
		want               string
	}{
		"data of a config map": {configMap, "merge", "{data: {a: '2'}}", configMapAnswer + "data: " + isImmutable},
		"a key more":           {configMap, "merge", "{data: {c: '2'}}", configMapAnswer + "data: " + isImmutable},
		"a key less":           {configMap, "merge", "{data: {a: null}}", configMapAnswer + "data: " + isImmutable},
		"binary data":          {configMap, "merge", "{binaryData: {b: AAEE}}", configMapAnswer + "binaryData: " + isImmutable},
		"immutable false":      {configMap, "merge", "{immutable: false}", configMapAnswer + "immutable: " + isImmutable},
		"immutable null":       {configMap, "merge", "{immutable: null}", configMapAnswer + "immutable: " + isImmutable},
		"immutable absent": {
			configMap, "put", "{kind: ConfigMap, data: {a: '1'}, binaryData: {b: AAEC}}",
			configMapAnswer + "immutable: " + isImmutable,
		},
		"by apply": {configMap, "apply", "{kind: ConfigMap, data: {a: '2'}}", configMapAnswer + "data: " + isImmutable},
		"everything at once": {
			configMap, "put", "{kind: ConfigMap}",
			configMapAnswer + "[immutable: " + isImmutable + ", data: " + isImmutable + ", binaryData: " + isImmutable + "]",
		},
		"the same again":               {configMap, "put", configMap, ""},
		"the same by apply":            {configMap, "apply", configMap, ""},
		"labels and annotations":       {configMap, "merge", "{metadata: {labels: {a: b}, annotations: {a: b}}}", ""},
		"finalizers":                   {configMap, "merge", "{metadata: {finalizers: [a.example.com/b]}}", ""},
		"owners":                       {configMap, "merge", "{metadata: {ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: b}]}}", ""},
		"empty maps for absent ones":   {emptyConfigMap, "put", "{kind: ConfigMap, immutable: true, data: {}, binaryData: {}}", ""},
		"data for absent data":         {emptyConfigMap, "merge", "{data: {a: '1'}}", configMapAnswer + "data: " + isImmutable},
		"mutable, data":                {mutableConfigMap, "merge", "{data: {a: '2'}}", ""},
		"made immutable with new data": {mutableConfigMap, "merge", "{immutable: true, data: {a: '2'}}", ""},
		"mutable, immutable absent":    {mutableConfigMap, "put", "{kind: ConfigMap}", ""},
		"data of a secret":             {secret, "merge", "{data: {a: Mg==}}", secretAnswer + "data: " + isImmutable},
		"string data":                  {secret, "merge", "{stringData: {a: '2'}}", secretAnswer + "data: " + isImmutable},
		"string data, a key more":      {secret, "merge", "{stringData: {c: '1'}}", secretAnswer + "data: " + isImmutable},
		"string data that repeats":     {secret, "merge", "{stringData: {a: '1'}}", ""},
		"string data instead of data":  {secret, "put", "{kind: Secret, immutable: true, stringData: {a: '1', b: '2'}}", ""},
		"secret, immutable absent":     {secret, "put", "{kind: Secret, data: {a: MQ==, b: Mg==}}", secretAnswer + "immutable: " + isImmutable},
		"secret, all at once": {
			secret, "put", "{kind: Secret, type: example.com/other}",
			secretAnswer + `[type: Invalid value: "example.com/other": field is immutable, immutable: ` +
				isImmutable + ", data: " + isImmutable + "]",
		},
		"secret, metadata":       {secret, "merge", "{metadata: {labels: {a: b}}}", ""},
		"secret, the same again": {secret, "put", secret, ""},
		"type of a mutable secret": {
			mutableSecret, "merge", "{type: example.com/other}",
			secretAnswer + `type: Invalid value: "example.com/other": field is immutable`,
		},
		"secret made immutable": {mutableSecret, "merge", "{immutable: true, stringData: {a: '2'}}", ""},
		"more than a megabyte": {
			mutableConfigMap, "merge", "{data: {a: " + half + ", b: " + half + ", c: x}}",
			configMapAnswer + "[]: Too long: may not be more than 1048576 bytes",
		},
		"a secret of a megabyte": {mutableSecret, "merge", "{stringData: {a: " + half + ", b: " + half + "}}", ""},
		"a secret of more than one": {
			mutableSecret, "merge", "{stringData: {a: " + half + ", b: " + half + ", c: x}}",
			secretAnswer + "data: Too long: may not be more than 1048576 bytes",
		},
	}
	for i, name := range slices.Sorted(maps.Keys(tests)) {
		test, object := tests[name], fmt.Sprintf("object-%d", i)
		t.Run(name, func(t *testing.T) {
			c := content{client: client, resource: "configmaps"}
			if strings.Contains(test.old, "Secret") {
				c.resource = "secrets"
			}
			if err := c.create(t, object, test.old); err != nil {
				t.Fatal(err)
			}
			send := map[string]func(testing.TB, string, string) error{"put": c.put, "merge": c.merge, "apply": c.apply}[test.how]
			err := send(t, object, test.document)
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), object, "NAME")
				if !apierrors.IsInvalid(err) {
					t.Errorf("%v is not 422", err)
				}
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			// The garbage collector may have deleted the object with an owner that does not
			// exist.
			err = c.client.CoreV1().RESTClient().Delete().Namespace("default").Resource(c.resource).Name(object).Do(t.Context()).Error()
			if err != nil && (name != "owners" || !apierrors.IsNotFound(err)) {
				t.Errorf("deletion: %v", err)
			}
		})
	}
}

// Without the feature gate, the field immutable is dropped from objects that do not have it
// yet. Objects that are immutable stay immutable.
func TestImmutableGateOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := servertest.Start(t, apiserver.Config{DataDir: dir})
	kinds := map[string]string{"configmaps": "kind: ConfigMap, data: {a: MQ==}", "secrets": "kind: Secret, data: {a: MQ==}"}
	for resource, document := range kinds {
		c := content{client: server.Client(t), resource: resource}
		for name, immutable := range map[string]string{"immutable": ", immutable: true", "mutable": ", immutable: false", "plain": ""} {
			if err := c.create(t, name, "{"+document+immutable+"}"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	features := native.NewFeatures()
	if err := features.Set("ImmutableEphemeralVolumes=false"); err != nil {
		t.Fatal(err)
	}
	server = servertest.Start(t, apiserver.Config{DataDir: dir, Features: features})
	for resource, document := range kinds {
		t.Run(resource, func(t *testing.T) {
			c := content{client: server.Client(t), resource: resource}
			steps := []struct {
				what string
				do   func() error
				name string
				want string
			}{
				{"created immutable", func() error { return c.create(t, "new", "{"+document+", immutable: true}") }, "new", "<nil>"},
				{"made immutable later", func() error { return c.merge(t, "plain", "{immutable: true}") }, "plain", "<nil>"},
				{"made immutable by apply", func() error { return c.apply(t, "plain", "{"+document+", immutable: true}") }, "plain", "<nil>"},
				{"changed, so not immutable", func() error { return c.merge(t, "plain", "{data: {a: Mg==}}") }, "plain", "<nil>"},
				{"had the field", func() error { return c.merge(t, "mutable", "{immutable: true}") }, "mutable", "true"},
				{"relabelled", func() error { return c.merge(t, "immutable", "{metadata: {labels: {a: b}}}") }, "immutable", "true"},
				{"data of an immutable object", func() error { return invalid(c.merge(t, "immutable", "{data: {a: Mg==}}")) }, "immutable", "true"},
				{"made mutable again", func() error { return invalid(c.merge(t, "immutable", "{immutable: null}")) }, "immutable", "true"},
			}
			for _, step := range steps {
				if err := step.do(); err != nil {
					t.Errorf("%s: %v", step.what, err)
				}
				if got := immutableOf(t, c, step.name); got != step.want {
					t.Errorf("%s: immutable is %s, want %s", step.what, got, step.want)
				}
			}
		})
	}

	// With the feature gate again, all objects are unchanged and can be made immutable.
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	server = servertest.Start(t, apiserver.Config{DataDir: dir})
	for resource := range kinds {
		c := content{client: server.Client(t), resource: resource}
		for name, want := range map[string]string{"immutable": "true", "mutable": "true", "plain": "<nil>", "new": "<nil>"} {
			if got := immutableOf(t, c, name); got != want {
				t.Errorf("on again: immutable of %s %s is %s, want %s", resource, name, got, want)
			}
		}
		for _, name := range []string{"immutable", "mutable"} {
			if err := invalid(c.merge(t, name, "{data: {a: Mw==}}")); err != nil {
				t.Errorf("on again: data of %s %s: %v", resource, name, err)
			}
		}
		if err := c.merge(t, "plain", "{immutable: true}"); err != nil || immutableOf(t, c, "plain") != "true" {
			t.Errorf("on again: %s are not made immutable: %v", resource, err)
		}
	}
}

// invalid returns an error if the given one is not 422.
func invalid(err error) error {
	if apierrors.IsInvalid(err) {
		return nil
	}
	return fmt.Errorf("not refused as invalid: %w", err)
}

func immutableOf(t testing.TB, c content, name string) string {
	t.Helper()
	var value *bool
	if c.resource == "secrets" {
		found, err := c.client.CoreV1().Secrets("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		value = found.Immutable
	} else {
		found, err := c.client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		value = found.Immutable
	}
	if value == nil {
		return "<nil>"
	}
	return fmt.Sprint(*value)
}
