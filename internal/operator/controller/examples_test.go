package controller_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/internal/waittest"
)

// load creates the OperatorVersion of an example, and its Operator if it does not exist. It
// returns the name of the OperatorVersion.
func (c cluster) load(t *testing.T, folder string) string {
	t.Helper()
	p, err := pack.Load("../../../examples/operators/" + folder)
	if err != nil {
		t.Fatal(err)
	}
	operator, version := p.Resources(c.Namespace)
	if err := c.create(t, "operators", operator); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	c.mustCreate(t, "operatorversions", version)
	return version.Name
}

// upgrade upgrades an Instance to a version, with values and with consent to the named
// parameters.
func (c cluster) upgrade(t *testing.T, name, version string, values map[string]string, consent ...string) error {
	t.Helper()
	return c.change(t, name, func(instance *api.Instance) {
		instance.Spec.OperatorVersion.Name = version
		if values != nil && instance.Spec.Parameters == nil {
			instance.Spec.Parameters = map[string]string{}
		}
		maps.Copy(instance.Spec.Parameters, values)
		if consent == nil {
			return
		}
		if err := api.SetConsent(instance, api.Consent{OperatorVersion: version, Names: consent}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestZooKeeper installs, updates, upgrades and rolls back the ZooKeeper example.
func TestZooKeeper(t *testing.T) {
	t.Parallel()
	c := start(t)
	first, second, third := c.load(t, "zookeeper/0.1.0"), c.load(t, "zookeeper/0.2.0"), c.load(t, "zookeeper/0.3.0")

	c.install(t, "zk", first, map[string]string{"CLUSTER_NAME": "east", "METRICS": "true"})
	c.awaitComplete(t, "zk")
	want := map[string]string{"CLUSTER_NAME": "east", "METRICS": "true", "DISK_SIZE": "5Gi", "STORAGE_CLASS": "", "ID_OFFSET": "1"}
	if diff := cmp.Diff(want, c.instance(t, "zk").Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if replicas := c.get(t, "apps/statefulsets", "zk").Object["spec"].(map[string]any)["replicas"]; replicas != int64(3) {
		t.Errorf("replicas %v", replicas)
	}
	if c.get(t, "services", "zk-metrics") == nil {
		t.Error("METRICS is true, and there is no Service for it")
	}

	// Update: one plan applies both changes and deletes the toggled object.
	if err := c.change(t, "zk", func(i *api.Instance) {
		i.Spec.Parameters["NODE_COUNT"], i.Spec.Parameters["METRICS"] = "5", "false"
	}); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "zk")
	if replicas := c.get(t, "apps/statefulsets", "zk").Object["spec"].(map[string]any)["replicas"]; replicas != int64(5) {
		t.Errorf("replicas %v", replicas)
	}
	if c.get(t, "services", "zk-metrics") != nil {
		t.Error("METRICS is false, and its Service is still there")
	}

	// The parameter triggers the plan backup. Its Job must stay after later plans.
	if err := c.change(t, "zk", func(i *api.Instance) { i.Spec.Parameters["BACKUP_ID"] = "monday" }); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "zk")
	if c.get(t, "batch/jobs", "zk-backup") == nil {
		t.Error("no Job of the backup")
	}

	if err := c.upgrade(t, "zk", second, nil); err == nil {
		t.Error("upgraded without consent")
	}
	unchanged := c.instance(t, "zk")
	if unchanged.Spec.OperatorVersion.Name != first {
		t.Errorf("a refused upgrade left %s", unchanged.Spec.OperatorVersion.Name)
	}
	if err := c.upgrade(t, "zk", second, nil, "POD_POLICY", "BACKUP_SIZE", "BACKUP_CLASS"); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "zk")
	if c.get(t, "persistentvolumeclaims", "zk-backup") == nil {
		t.Error("no volume for backups after the upgrade")
	}
	if c.get(t, "batch/jobs", "zk-backup") == nil {
		t.Error("the upgrade deleted the Job of the backup")
	}

	// CLUSTER_NAME becomes mutable, ID_OFFSET is removed, TENANT is new.
	if err := c.upgrade(t, "zk", third, map[string]string{"CLUSTER_NAME": "west", "TENANT": "me"}); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "zk")
	if values := c.instance(t, "zk").Spec.Parameters; values["CLUSTER_NAME"] != "west" || values["ID_OFFSET"] != "" {
		t.Errorf("after the upgrade %v", values)
	}

	// Rollback: the recorded values are restored, and objects of the newer versions are
	// pruned.
	for _, version := range []string{second, first} {
		if err := c.change(t, "zk", func(i *api.Instance) {
			i.Spec.OperatorVersion.Name = version
			i.Annotations[api.RollbackAnnotation] = version
		}); err != nil {
			t.Fatal(err)
		}
		c.awaitComplete(t, "zk")
	}
	want = map[string]string{
		"CLUSTER_NAME": "east", "METRICS": "false", "DISK_SIZE": "5Gi", "STORAGE_CLASS": "", "ID_OFFSET": "1",
		"NODE_COUNT": "5", "BACKUP_ID": "monday",
	}
	if diff := cmp.Diff(want, c.instance(t, "zk").Spec.Parameters); diff != "" {
		t.Errorf("rolled back (-want +got):\n%s", diff)
	}
	waittest.Until(t, "the volume for backups pruned", func() bool {
		return c.get(t, "persistentvolumeclaims", "zk-backup") == nil
	})
}

// TestKafka installs, updates, upgrades and rolls back the Kafka example.
func TestKafka(t *testing.T) {
	t.Parallel()
	c := start(t)
	first, second, third := c.load(t, "kafka/1.0.0"), c.load(t, "kafka/1.1.0"), c.load(t, "kafka/2.0.0")
	c.install(t, "kafka", first, map[string]string{"ZOOKEEPER_URI": "zk:2181", "EXTERNAL_ACCESS": "true"})
	c.awaitComplete(t, "kafka")
	if c.get(t, "services", "kafka-2-external") == nil {
		t.Error("no external Service of the third broker")
	}

	// Fewer brokers render fewer Services: the third is pruned.
	if err := c.change(t, "kafka", func(i *api.Instance) { i.Spec.Parameters["BROKER_COUNT"] = "2" }); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "kafka")
	if c.get(t, "services", "kafka-2-external") != nil || c.get(t, "services", "kafka-1-external") == nil {
		t.Error("the external Services are not those of two brokers")
	}
	if err := c.upgrade(t, "kafka", second, nil, "ZOOKEEPER_URI", "RACK_LABEL"); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "kafka")
	if err := c.upgrade(t, "kafka", third, map[string]string{"CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk"}, "RACK_LABEL"); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "kafka")
	if values := c.instance(t, "kafka").Spec.Parameters; values["CLUSTER_ID"] == "" || values["LEGACY_FORMAT"] != "" {
		t.Errorf("after the upgrade %v", values)
	}
	if err := c.change(t, "kafka", func(i *api.Instance) {
		i.Spec.OperatorVersion.Name = second
		i.Annotations[api.RollbackAnnotation] = second
	}); err != nil {
		t.Fatal(err)
	}
	c.awaitComplete(t, "kafka")
	if values := c.instance(t, "kafka").Spec.Parameters; values["LEGACY_FORMAT"] != "2.8" || values["CLUSTER_ID"] != "" {
		t.Errorf("after the rollback %v", values)
	}
}
