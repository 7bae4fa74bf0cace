package migration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

const (
	group = "harbour.example.com"
	name  = "boats." + group
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	boats       = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "boats"}
)

// define returns a definition with two versions. conversion may be empty.
func define(conversion string) string {
	const version = "{name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, properties: " +
		"{spec: {type: object, properties: {sail: {type: string}, cloth: {type: string}, count: {type: integer}}}}}}}"
	if conversion != "" {
		conversion = ", conversion: " + conversion
	}
	return fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s}, "+
		"spec: {group: %s, scope: Namespaced, names: {plural: boats, kind: Boat}, versions: [%s, %s]%s}}", name, group,
		fmt.Sprintf(version, "v1", true), fmt.Sprintf(version, "v2", false), conversion)
}

// store is the etcd of the servers of a test.
type store struct {
	testing.TB
	cluster etcd.Cluster
	etcd    *clientv3.Client
}

func startStore(t testing.TB) *store {
	t.Helper()
	url := servertest.StartEtcd(t, transport.TLSInfo{})
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return &store{TB: t, cluster: etcd.Cluster{Servers: []string{url}}, etcd: client}
}

// server starts a server on the store.
func (s *store) server(settings apiserver.Config) (*servertest.Server, *client) {
	s.Helper()
	settings.Etcd = s.cluster
	started := servertest.Start(s.TB, settings)
	return started, newClient(s.TB, started.Config(s.TB))
}

// read returns the stored pairs with a prefix, at a revision or, with zero, the newest.
func (s *store) read(prefix string, revision int64) (map[string]*stored, int64) {
	s.Helper()
	answer, err := s.etcd.Get(context.Background(), "/registry/"+prefix, clientv3.WithPrefix(), clientv3.WithRev(revision))
	if err != nil {
		s.Fatal(err)
	}
	found := map[string]*stored{}
	for _, kv := range answer.Kvs {
		key := strings.TrimPrefix(string(kv.Key), "/registry/"+prefix)
		found[key] = &stored{text: string(kv.Value), revision: kv.ModRevision, lease: kv.Lease}
	}
	return found, answer.Header.Revision
}

// stored is a stored value.
type stored struct {
	text            string
	revision, lease int64
}

// decode decodes JSON.
func (s *stored) decode(t testing.TB) (object struct {
	APIVersion string
	Spec       map[string]any
	Status     struct{ StoredVersions []string }
},
) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// versions counts the stored boats by their version, and returns the stored versions of the definition at the same moment.
func (s *store) versions() (counted map[string]int, storedVersions []string) {
	s.Helper()
	found, revision := s.read(group+"/boats/", 0)
	counted = map[string]int{}
	for _, boat := range found {
		counted[strings.TrimPrefix(boat.decode(s.TB).APIVersion, group+"/")]++
	}
	crds, _ := s.read("apiextensions.k8s.io/customresourcedefinitions/"+name, revision)
	for _, crd := range crds {
		storedVersions = crd.decode(s.TB).Status.StoredVersions
	}
	return counted, storedVersions
}

// client is a client of a server.
type client struct {
	testing.TB
	typed   kubernetes.Interface
	dynamic dynamic.Interface
}

func newClient(t testing.TB, config *rest.Config) *client {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	return &client{TB: t, typed: kubernetes.NewForConfigOrDie(config), dynamic: dynamic.NewForConfigOrDie(config)}
}

func (c *client) boats() dynamic.ResourceInterface {
	return c.dynamic.Resource(boats).Namespace("default")
}

// create creates a definition and boats with the names b0, b1 and so on.
func (c *client) create(definition string, count int) {
	c.Helper()
	if _, err := c.dynamic.Resource(definitions).Create(c.Context(), yamltest.Object(c.TB, definition), metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
	creating, ctx := errgroup.WithContext(c.Context())
	creating.SetLimit(16)
	for i := range count {
		creating.Go(func() error {
			boat := yamltest.Object(c.TB, fmt.Sprintf("{apiVersion: %s/v1, kind: Boat, metadata: {name: b%d}, spec: {sail: red, count: %d}}", group, i, i))
			_, err := c.boats().Create(ctx, boat, metav1.CreateOptions{})
			return err
		})
	}
	if err := creating.Wait(); err != nil {
		c.Fatal(err)
	}
}

// storeIn makes a version the storage version.
func (c *client) storeIn(version string) {
	c.Helper()
	if _, err := c.tryStoreIn(version); err != nil {
		c.Fatal(err)
	}
}

// tryStoreIn returns the resourceVersion of the definition.
func (c *client) tryStoreIn(version string) (string, error) {
	patch := fmt.Appendf(nil, `[{"op": "replace", "path": "/spec/versions/0/storage", "value": %t}, {"op": "replace", "path": "/spec/versions/1/storage", "value": %t}]`,
		version == "v1", version == "v2")
	crd, err := c.dynamic.Resource(definitions).Patch(c.Context(), name, types.JSONPatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return "", err
	}
	return crd.GetResourceVersion(), nil
}

// migrate creates a migration of a resource.
func (c *client) migrate(resource string) string {
	c.Helper()
	parsed := schema.ParseGroupResource(resource)
	created, err := c.typed.StoragemigrationV1().StorageVersionMigrations().Create(c.Context(), &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: parsed.Resource + "-"},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource(parsed)},
	}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return created.Name
}

// ended waits until a migration has ended, and returns the condition that says how.
func (c *client) ended(migration string) metav1.Condition {
	c.Helper()
	var end metav1.Condition
	waittest.Until(c.TB, "the migration ends", func() error {
		found, err := c.typed.StoragemigrationV1().StorageVersionMigrations().Get(c.Context(), migration, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, how := range []storagemigrationv1.MigrationConditionType{storagemigrationv1.MigrationSucceeded, storagemigrationv1.MigrationFailed} {
			if condition := meta.FindStatusCondition(found.Status.Conditions, string(how)); condition != nil {
				end = *condition
				running := meta.FindStatusCondition(found.Status.Conditions, string(storagemigrationv1.MigrationRunning))
				if running != nil && running.Status != metav1.ConditionFalse {
					c.Errorf("the migration has ended and runs: %v", found.Status.Conditions)
				}
				return nil
			}
		}
		return fmt.Errorf("status %v", found.Status)
	})
	return end
}

// succeeded waits until a migration has succeeded.
func (c *client) succeeded(migration string) metav1.Condition {
	c.Helper()
	end := c.ended(migration)
	if end.Type != string(storagemigrationv1.MigrationSucceeded) || end.Status != metav1.ConditionTrue {
		c.Fatalf("the migration has ended with %s: %s", end.Type, end.Message)
	}
	return end
}

// begun waits until some objects of a migration are written.
func (s *store) begun(version string) {
	s.Helper()
	waittest.Until(s.TB, "the first boats are stored in "+version, func() bool {
		counted, _ := s.versions()
		return counted[version] > 0
	})
}

func number(t testing.TB, text string) int {
	t.Helper()
	parsed, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
