package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/etcd"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/lifecycle"
	"holdfast.dev/holdfast/internal/pasttest"
)

// migrated is one run of TestSoakPastMigrations. The kinds of the run are in a group of their own.
type migrated struct {
	servertest.Cluster
	etcd       *clientv3.Client
	run, group string
}

// TestSoakPastMigrations shows the controller of StorageVersionMigrations the past while users change storage versions, write objects, and
// create migrations and definitions again. The requests of the controller pass the proxy. The migrator writes the objects in etcd, below the
// API, so its reads and writes do not.
func TestSoakPastMigrations(t *testing.T) {
	t.Parallel()
	address := servertest.StartEtcd(t, transport.TLSInfo{})
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	server := servertest.StartLedBy(t, "test", apiserver.Config{
		Etcd: etcd.Cluster{Servers: []string{address}}, MigrationRate: 30, // so slow that users write in the middle of a migration
	})
	cluster := server.Cluster(t)
	pasttest.Run(t, pasttest.Scenario{
		Client: cluster.Config, Controller: runSelected(lifecycle.Config{Migrator: server.Migrator()}, lifecycle.Migrations),
		Script: func(_ *testing.T, run string) pasttest.Script {
			return migrated{Cluster: cluster, etcd: client, run: run, group: run + ".example.com"}.script()
		},
	})
}

func (m migrated) script() pasttest.Script {
	const boats, ships = "boats", "ships"
	steps := []pasttest.Step{m.define(boats)}
	want := map[string]int{"b4": 40, "b9": 9, "b20": 20, "b21": 21}
	for i := range 20 {
		steps = append(steps, m.write(boats, fmt.Sprintf("b%d", i), i))
	}
	steps = append(
		steps, m.migrate("unknown", "ghosts."+m.group),
		m.storeIn(boats, "v2"), m.migrate("first", boats+"."+m.group), m.write(boats, "b4", 40), m.write(boats, "b20", 20),
		m.storeIn(boats, "v1"), m.migrate("second", boats+"."+m.group), m.forget("first"), m.migrate("first", boats+"."+m.group),
		m.write(boats, "b9", 10), m.remove(boats, "b9"), m.write(boats, "b9", 9), m.succeeds("first"), m.isStored(boats, "v1"),
		m.storeIn(boats, "v2"), m.write(boats, "b21", 21), m.migrate("third", boats+"."+m.group), m.migrate("core", "configmaps"),
		m.forget("second"), m.migrate("second", boats+"."+m.group), m.succeeds("third"), m.isStored(boats, "v2"),
		// Users create the definition and its migration again.
		m.define(ships), m.write(ships, "s1", 1), m.storeIn(ships, "v2"), m.migrate("fleet", ships+"."+m.group), m.undefine(ships),
		m.define(ships), m.write(ships, "s1", 2), m.storeIn(ships, "v2"), m.forget("fleet"), m.migrate("fleet", ships+"."+m.group),
	)
	var lines []string
	for i := range 22 {
		name := fmt.Sprintf("b%d", i)
		count, known := want[name]
		if !known {
			count = i
		}
		lines = append(lines, fmt.Sprintf("boats/%s v2 %d", name, count))
	}
	lines = append(lines, "ships/s1 v2 2", "boats [v2]", "ships [v2]", "core Succeeded", "first Succeeded", "fleet Succeeded",
		"second Succeeded", "third Succeeded", "unknown Failed: resource does not exist in discovery")
	slices.Sort(lines)
	return pasttest.Script{
		Steps: steps, State: m.state, Want: strings.Join(lines, "\n"),
		Last: []pasttest.Step{m.migrate("last", boats+"."+m.group), m.succeeds("last"), m.isStored(boats, "v2")},
	}
}

// state returns the stored objects with their versions, the stored versions of the definitions, and how the migrations have ended.
func (m migrated) state(ctx context.Context) (string, error) {
	lines, err := m.stored(ctx)
	if err != nil {
		return "", err
	}
	list, err := m.StoragemigrationV1().StorageVersionMigrations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, found := range list.Items {
		if name, ours := strings.CutPrefix(found.Name, m.run+"-"); ours && name != "last" {
			lines = append(lines, name+" "+ending(&found))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// ending says how a migration has ended.
func ending(found *storagemigrationv1.StorageVersionMigration) string {
	var text []string
	for _, condition := range found.Status.Conditions {
		switch {
		case condition.Status != metav1.ConditionTrue:
		case condition.Type == string(storagemigrationv1.MigrationFailed):
			reason, _, _ := strings.Cut(condition.Message, ": ")
			text = append(text, condition.Type+": "+reason)
		default:
			text = append(text, condition.Type)
		}
	}
	return strings.Join(text, " ")
}

// stored returns what etcd has of the objects and definitions of the run, at one revision.
func (m migrated) stored(ctx context.Context) ([]string, error) {
	const defined = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
	objects := "/registry/" + m.group + "/"
	answer, err := m.etcd.Txn(ctx).Then(clientv3.OpGet(objects, clientv3.WithPrefix()), clientv3.OpGet(defined, clientv3.WithPrefix())).Commit()
	if err != nil {
		return nil, err
	}
	var lines []string
	for i, found := range answer.Responses {
		for _, pair := range found.GetResponseRange().Kvs {
			var object struct {
				APIVersion string
				Spec       struct{ Count int }
				Status     struct{ StoredVersions []string }
			}
			if err := json.Unmarshal(pair.Value, &object); err != nil {
				return nil, fmt.Errorf("%s: %w", pair.Key, err)
			}
			if i == 0 {
				name := strings.Replace(strings.TrimPrefix(string(pair.Key), objects), "/default/", "/", 1)
				lines = append(lines, fmt.Sprintf("%s %s %d", name, strings.TrimPrefix(object.APIVersion, m.group+"/"), object.Spec.Count))
			} else if plural, ours := strings.CutSuffix(strings.TrimPrefix(string(pair.Key), defined), "."+m.group); ours {
				lines = append(lines, fmt.Sprintf("%s %v", plural, object.Status.StoredVersions))
			}
		}
	}
	return lines, nil
}

// isStored returns a step that fails unless all objects of a kind are stored in a version, and the status of the definition says so.
func (m migrated) isStored(plural, version string) pasttest.Step {
	return pasttest.Step{Name: plural + " are stored in " + version, Write: func(ctx context.Context) error {
		lines, err := m.stored(ctx)
		for _, line := range lines {
			of, isObject := strings.CutPrefix(line, plural+"/")
			if isObject && !strings.Contains(of, " "+version+" ") || !isObject && strings.HasPrefix(line, plural+" ") && line != fmt.Sprintf("%s [%s]", plural, version) {
				err = errors.Join(err, errors.New(line))
			}
		}
		return err
	}}
}
