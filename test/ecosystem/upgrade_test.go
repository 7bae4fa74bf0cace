package ecosystem_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/change"
	"holdfast.dev/holdfast/internal/finding"
)

// upgrades are two published versions of the definitions of a project, by their names in docs/definitions.md. The samples are those
// of the old version.
var upgrades = map[string]struct {
	from, oldCRDs, to, newCRDs string
	samples                    string
	// stored is how many samples there are that the old definitions accept, and hit how many of them the new ones do not keep.
	stored, hit int
}{
	"gateway-api 1.0.0 to 1.6.3, standard": {
		from: "sigs.k8s.io/gateway-api@v1.0.0", oldCRDs: "config/crd/standard", samples: "examples/standard",
		to: "sigs.k8s.io/gateway-api", newCRDs: "config/crd/standard", stored: 41,
	},
	"gateway-api 1.3.0 to 1.6.3, experimental": {
		from: "sigs.k8s.io/gateway-api@v1.3.0", oldCRDs: "config/crd/experimental", samples: "examples/experimental",
		to: "sigs.k8s.io/gateway-api", newCRDs: "config/crd/experimental", stored: 10, hit: 1,
	},
	"cert-manager 1.12.0 to 1.21.2": {
		from: "github.com/cert-manager/cert-manager@v1.12.0", oldCRDs: "deploy/crds", samples: "test/fixtures/cert-manager-resources.yaml",
		to: "github.com/cert-manager/cert-manager", newCRDs: "deploy/crds", stored: 3,
	},
	"cluster-api 1.8.0 to 1.14.2": {
		from: "sigs.k8s.io/cluster-api@v1.8.0", oldCRDs: "config/crd/bases", samples: "cmd/clusterctl/client/cluster/assets/topology-test",
		to: "sigs.k8s.io/cluster-api", newCRDs: "core/config/crd/bases", stored: 5, hit: 5,
	},
}

// The table in docs/definitions.md has the breaking changes that schema diff finds.
func TestUpgradeFindings(t *testing.T) {
	page, err := os.ReadFile("../../docs/definitions.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| ([a-z-]+ [0-9.]+ to [0-9.]+[a-z, ]*) \| ` + "`([a-z-]+)`" + ` \| (\d+) \| (\d+) \| (\d+) \|`)
	documented := map[string]int{}
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		var all, right, strict int
		if _, err := fmt.Sscan(match[3]+" "+match[4]+" "+match[5], &all, &right, &strict); err != nil || all != right+strict {
			t.Errorf("%s: %v", match[0], err)
		}
		documented[match[1]+": "+match[2]] = all
	}
	found := map[string]int{}
	for name, upgrade := range upgrades {
		updated := map[string]manifest{}
		for _, m := range readDefinitions(t, upgrade.to, upgrade.newCRDs) {
			updated[m.GetName()] = m
		}
		for _, m := range readDefinitions(t, upgrade.from, upgrade.oldCRDs) {
			changes := []change.Change{change.Removed(decode(t, m))}
			if newer, ok := updated[m.GetName()]; ok {
				changes = change.Compare(t.Context(), decode(t, m), decode(t, newer))
			}
			for _, c := range changes {
				if c.Severity == finding.Error {
					found[name+": "+c.Rule]++
				}
			}
		}
	}
	if diff := cmp.Diff(found, documented); diff != "" {
		t.Errorf("docs/definitions.md is not what is found (-found +documented):\n%s", diff)
	}
}

// The server warns about every sample that cannot be written again after an upgrade, or that loses a field.
func TestUpgrades(t *testing.T) {
	for name, upgrade := range upgrades {
		t.Run(name, func(t *testing.T) {
			client := newClient(t, servertest.Start(t, apiserver.Config{}).Config(t))
			for _, m := range readDefinitions(t, upgrade.from, upgrade.oldCRDs) {
				client.install(t, m)
			}
			stored := map[string][]manifest{}
			count := 0
			for _, m := range readManifests(t, filepath.Join(moduleDir(t, upgrade.from), upgrade.samples)) {
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
					if wrong != "" && !strings.Contains(strings.Join(said, "\n"), "stored object") {
						t.Errorf("%s: %s, and the server said only %q", object.file, wrong, said)
					}
				}
			}
			if hit != upgrade.hit {
				t.Errorf("%d objects are hit, want %d", hit, upgrade.hit)
			}
		})
	}
}

// upgrade replaces a definition, or creates it, and returns the warnings.
func (c *client) upgrade(t *testing.T, m manifest) []string {
	t.Helper()
	old, err := c.dynamic.Resource(definitions).Get(t.Context(), m.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	m.SetResourceVersion(old.GetResourceVersion())
	c.said.take()
	if _, err := c.dynamic.Resource(definitions).Update(t.Context(), m.Unstructured, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("%s: %v", m.file, err)
	}
	return c.said.take()
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
