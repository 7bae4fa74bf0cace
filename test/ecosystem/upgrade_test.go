package ecosystem_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/definition"
)

// upgrades are two published versions of the definitions of a project, by their names in docs/definitions.md and
// testdata/findings.tsv. The samples are those of the old version, and the objects of testdata/upgrades that the new version refuses.
var upgrades = map[string]struct {
	from, oldCRDs, to, newCRDs string
	samples                    string
	// own is a file with more samples, empty for none.
	own string
	// stored is how many samples there are that the old definitions accept, and hit how many of them the new ones do not keep.
	stored, hit int
}{
	"gateway-api 1.0.0 to 1.6.3, standard": {
		from: "sigs.k8s.io/gateway-api@v1.0.0", oldCRDs: "config/crd/standard", samples: "examples/standard",
		to: "sigs.k8s.io/gateway-api", newCRDs: "config/crd/standard",
		own: "testdata/upgrades/gateway-api.yaml", stored: 43, hit: 2,
	},
	"gateway-api 1.3.0 to 1.6.3, experimental": {
		from: "sigs.k8s.io/gateway-api@v1.3.0", oldCRDs: "config/crd/experimental", samples: "examples/experimental",
		to: "sigs.k8s.io/gateway-api", newCRDs: "config/crd/experimental", stored: 10, hit: 1,
	},
	"cert-manager 1.12.0 to 1.21.2": {
		from: "github.com/cert-manager/cert-manager@v1.12.0", oldCRDs: "deploy/crds", samples: "test/fixtures/cert-manager-resources.yaml",
		to: "github.com/cert-manager/cert-manager", newCRDs: "deploy/crds",
		own: "testdata/upgrades/cert-manager.yaml", stored: 5, hit: 2,
	},
	"cluster-api 1.8.0 to 1.14.2": {
		from: "sigs.k8s.io/cluster-api@v1.8.0", oldCRDs: "config/crd/bases", samples: "cmd/clusterctl/client/cluster/assets/topology-test",
		to: "sigs.k8s.io/cluster-api", newCRDs: "core/config/crd/bases", stored: 5, hit: 5,
	},
}

// The server warns about every sample that cannot be written again after an upgrade, or that loses a field. The warning has its name, or
// those of three other objects.
func TestUpgrades(t *testing.T) {
	for name, upgrade := range upgrades {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, servertest.Start(t, apiserver.Config{}).Config(t))
			for _, m := range readDefinitions(t, upgrade.from, upgrade.oldCRDs) {
				client.install(t, m)
			}
			stored := map[string][]manifest{}
			count := 0
			samples := readManifests(t, filepath.Join(moduleDir(t, upgrade.from), upgrade.samples))
			if upgrade.own != "" {
				samples = append(samples, readManifests(t, upgrade.own)...)
			}
			for _, m := range samples {
				if !client.serves(m.GroupVersionKind()) {
					continue
				}
				created, err := client.objects(t, m).Create(t.Context(), m.Unstructured, metav1.CreateOptions{})
				if apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				where := client.resources[m.GroupVersionKind()].resource.GroupResource().String()
				stored[where] = append(stored[where], manifest{created, m.file})
				count++
			}
			client.said.take()
			if count != upgrade.stored {
				t.Errorf("%d objects, want %d", count, upgrade.stored)
			}
			hit := 0
			for _, m := range readDefinitions(t, upgrade.to, upgrade.newCRDs) {
				said := client.upgrade(t, m)
				for _, object := range stored[m.GetName()] {
					wrong := client.rewrite(t, object)
					if wrong != "" {
						hit++
					}
					if wrong != "" && !slices.ContainsFunc(said, func(text string) bool { return named(text, object) }) {
						t.Errorf("%s: %s: %s, and the server said only %q", object.file, object.GetName(), wrong, said)
					}
				}
			}
			if hit != upgrade.hit {
				t.Errorf("%d objects are hit, want %d", hit, upgrade.hit)
			}
		})
	}
}

// hitBy finds the number of objects that a change hits, and the names of at most three of them.
var hitBy = regexp.MustCompile(`\((\d+) stored objects?: ([^)]*?)(, for example at .*)?\)$`)

// named reports whether a warning names an object, or says that more objects are hit than it names.
func named(text string, object manifest) bool {
	name := object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetNamespace() + "/" + name
	}
	hit := hitBy.FindStringSubmatch(text)
	if hit == nil {
		return false
	}
	names := strings.Split(hit[2], ", ")
	return slices.Contains(names, name) || hit[1] != strconv.Itoa(len(names))
}

// upgrade replaces a definition, or creates it, and returns the warnings. The server may write a condition of the definition meanwhile.
func (c *client) upgrade(t *testing.T, m manifest) (said []string) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		old, err := c.dynamic.Resource(definitions).Get(t.Context(), m.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		m.SetResourceVersion(old.GetResourceVersion())
		c.said.take()
		_, err = c.dynamic.Resource(definitions).Update(t.Context(), m.Unstructured, metav1.UpdateOptions{})
		said = c.said.take()
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", m.file, err)
	}
	return said
}

// rewrite creates a copy of an object, as it was stored, and returns what the server refuses or drops.
func (c *client) rewrite(t *testing.T, m manifest) string {
	t.Helper()
	again := m.DeepCopy()
	again.SetResourceVersion("")
	again.SetUID("")
	again.SetName(again.GetName() + "-again")
	got, err := c.objects(t, m).Create(t.Context(), again, metav1.CreateOptions{})
	if err != nil {
		return err.Error()
	}
	return strings.Join(missing("spec", again.Object["spec"], got.Object["spec"]), "\n")
}

// readDefinitions reads the definitions in a folder of a module, without the labels and annotations that are templates.
func readDefinitions(t *testing.T, module, dir string) []manifest {
	t.Helper()
	var found []manifest
	for _, m := range readManifests(t, filepath.Join(moduleDir(t, module), dir)) {
		if m.GetKind() == "CustomResourceDefinition" {
			for _, field := range []string{"labels", "annotations"} {
				values, _, _ := unstructured.NestedStringMap(m.Object, "metadata", field)
				maps.DeleteFunc(values, func(_, value string) bool { return strings.Contains(value, "{{") })
				if err := unstructured.SetNestedStringMap(m.Object, values, "metadata", field); err != nil {
					t.Fatal(err)
				}
			}
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b manifest) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found
}

func decode(t *testing.T, m manifest) *definition.CustomResourceDefinition {
	t.Helper()
	encoded, err := json.Marshal(m.Object)
	if err != nil {
		t.Fatal(err)
	}
	crd := &definition.CustomResourceDefinition{}
	if err := json.Unmarshal(encoded, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}
