package controller_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/api"
	"holdfast.dev/holdfast/operator/pack"
)

// load creates the Operator, if it is the first, and the OperatorVersion of an
// example, and returns the name of the latter.
func (c cluster) load(t *testing.T, folder string) string {
	t.Helper()
	p, err := pack.Load("../../examples/operators/" + folder)
	if err != nil {
		t.Fatal(err)
	}
	operator, version := p.Resources(c.namespace)
	if err := c.create(t, "operators", operator); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	c.mustCreate(t, "operatorversions", version)
	return version.Name
}

// upgrade goes to a version, with consent to names.
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

func TestZooKeeper(t *testing.T) {
	t.Parallel()
	c := start(t)
	first, second, third := c.load(t, "zookeeper/0.1.0"), c.load(t, "zookeeper/0.2.0"), c.load(t, "zookeeper/0.3.0")

	c.install(t, "zk", first, map[string]string{"CLUSTER_NAME": "east", "METRICS": "true"})
	c.complete(t, "zk")
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

	// Update: one plan for all that changed; the toggled object goes.
	if err := c.change(t, "zk", func(i *api.Instance) {
		i.Spec.Parameters["NODE_COUNT"], i.Spec.Parameters["METRICS"] = "5", "false"
	}); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "zk")
	if replicas := c.get(t, "apps/statefulsets", "zk").Object["spec"].(map[string]any)["replicas"]; replicas != int64(5) {
		t.Errorf("replicas %v", replicas)
	}
	if c.get(t, "services", "zk-metrics") != nil {
		t.Error("METRICS is false, and its Service is still there")
	}

	// A plan of its own, by its trigger; what it applied is there after others.
	if err := c.change(t, "zk", func(i *api.Instance) { i.Spec.Parameters["BACKUP_ID"] = "monday" }); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "zk")
	if c.get(t, "batch/jobs", "zk-backup") == nil {
		t.Error("no Job of the backup")
	}

	if err := c.upgrade(t, "zk", second, nil); err == nil {
		t.Error("upgraded without consent")
	}
	decision := c.instance(t, "zk")
	if decision.Spec.OperatorVersion.Name != first {
		t.Errorf("a refused upgrade left %s", decision.Spec.OperatorVersion.Name)
	}
	if err := c.upgrade(t, "zk", second, nil, "POD_POLICY", "BACKUP_SIZE", "BACKUP_CLASS"); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "zk")
	if c.get(t, "persistentvolumeclaims", "zk-backup") == nil {
		t.Error("no volume for backups after the upgrade")
	}
	if c.get(t, "batch/jobs", "zk-backup") == nil {
		t.Error("the Job of the backup did not outlive the upgrade")
	}

	// CLUSTER_NAME becomes mutable, ID_OFFSET is removed, TENANT is new.
	if err := c.upgrade(t, "zk", third, map[string]string{"CLUSTER_NAME": "west", "TENANT": "me"}); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "zk")
	if values := c.instance(t, "zk").Spec.Parameters; values["CLUSTER_NAME"] != "west" || values["ID_OFFSET"] != "" {
		t.Errorf("after the upgrade %v", values)
	}

	// Rollback: the values of before, and what only the new versions had is gone.
	for _, version := range []string{second, first} {
		if err := c.change(t, "zk", func(i *api.Instance) {
			i.Spec.OperatorVersion.Name = version
			i.Annotations[api.RollbackAnnotation] = version
		}); err != nil {
			t.Fatal(err)
		}
		c.complete(t, "zk")
	}
	want = map[string]string{
		"CLUSTER_NAME": "east", "METRICS": "false", "DISK_SIZE": "5Gi", "STORAGE_CLASS": "", "ID_OFFSET": "1",
		"NODE_COUNT": "5", "BACKUP_ID": "monday",
	}
	if diff := cmp.Diff(want, c.instance(t, "zk").Spec.Parameters); diff != "" {
		t.Errorf("rolled back (-want +got):\n%s", diff)
	}
	servertest.Eventually(t, "the volume for backups pruned", func() bool { return c.get(t, "persistentvolumeclaims", "zk-backup") == nil })
}

func TestKafka(t *testing.T) {
	t.Parallel()
	c := start(t)
	first, second, third := c.load(t, "kafka/1.0.0"), c.load(t, "kafka/1.1.0"), c.load(t, "kafka/2.0.0")
	c.install(t, "kafka", first, map[string]string{"ZOOKEEPER_URI": "zk:2181", "EXTERNAL_ACCESS": "true"})
	c.complete(t, "kafka")
	if c.get(t, "services", "kafka-2-external") == nil {
		t.Error("no external Service of the third broker")
	}

	// Fewer brokers render fewer Services: the third is pruned.
	if err := c.change(t, "kafka", func(i *api.Instance) { i.Spec.Parameters["BROKER_COUNT"] = "2" }); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "kafka")
	if c.get(t, "services", "kafka-2-external") != nil || c.get(t, "services", "kafka-1-external") == nil {
		t.Error("the external Services are not those of two brokers")
	}
	if err := c.upgrade(t, "kafka", second, nil, "ZOOKEEPER_URI", "RACK_LABEL"); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "kafka")
	if err := c.upgrade(t, "kafka", third, map[string]string{"CLUSTER_ID": "MkU3OEVBNTcwNTJENDM2Qk"}, "RACK_LABEL"); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "kafka")
	if values := c.instance(t, "kafka").Spec.Parameters; values["CLUSTER_ID"] == "" || values["LEGACY_FORMAT"] != "" {
		t.Errorf("after the upgrade %v", values)
	}
	if err := c.change(t, "kafka", func(i *api.Instance) {
		i.Spec.OperatorVersion.Name = second
		i.Annotations[api.RollbackAnnotation] = second
	}); err != nil {
		t.Fatal(err)
	}
	c.complete(t, "kafka")
	if values := c.instance(t, "kafka").Spec.Parameters; values["LEGACY_FORMAT"] != "2.8" || values["CLUSTER_ID"] != "" {
		t.Errorf("after the rollback %v", values)
	}
}
