package kudo_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast.dev/holdfast/api"
)

// testUpgrade checks the command upgrade, with and without consent and --dry-run.
func testUpgrade(t *testing.T, c cluster) {
	older, newer := tok(t, "0.1.0", first), tok(t, "0.2.0", second)
	c.must(t, "install", older, "--instance", "tok", "-p", "REALM=r", "-p", "LATER=set")
	refusals := `upgrade refused:
parameter 'LATER' was changed to immutable in operator version 0.2.0 but no value was provided
parameter 'NEW' was added in operator version 0.2.0, but no value was provided (default would be D)
parameter 'BARE' was added in operator version 0.2.0, but no value was provided`
	c.fails(t, refusals, "upgrade", newer)
	out := c.fails(t, refusals, "upgrade", newer, "--dry-run")
	for _, want := range []string{
		"tok: tok-1.0-0.1.0 -> tok-1.0-0.2.0\n",
		"LATER       set   set   becomes immutable   refused\n",
		"SIZE        3     5     mutable             changed\n",
		"GONE        g     -     removed             changed\n",
		"\nplan: deploy\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	c.fails(t, "parameter 'REALM' is immutable but was changed from 'r' to 's'", "upgrade", newer, "-p", "REALM=s")
	if got := c.names(t, "operatorversions"); got != "tok-1.0-0.1.0" {
		t.Errorf("operator versions: %s", got)
	}

	consented := []string{
		"upgrade", newer, "-p", "BARE=b", "-p", "FREE=new", "--accept-immutable", "LATER", "--accept-immutable", "NEW",
	}
	out = c.must(t, append(consented, "--dry-run")...)
	for _, want := range []string{
		"-  GONE: g\n", "+  NEW: D\n", "+  token: (hidden, another value)\n", "resources: 2 differ, 0 stay as they are\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "hush") {
		t.Errorf("a Secret is shown:\n%s", out)
	}
	c.fails(t, "--output goes with --dry-run", append(consented, "-o", "json")...)
	out = c.must(t, append(consented, "--dry-run", "-o", "json")...)
	var forecast struct {
		From, To, Plan string
		Refusals       []string
		Parameters     []struct{ Name, Note string }
		Resources      []struct{ Object, Difference string }
	}
	if err := json.Unmarshal([]byte(out), &forecast); err != nil || forecast.To != "tok-1.0-0.2.0" || forecast.Plan != "deploy" ||
		len(forecast.Parameters) < 5 || len(forecast.Resources) != 2 || len(forecast.Refusals) > 0 || strings.Contains(out, "hush") {
		t.Errorf("%v: %+v\n%s", err, forecast, out)
	}
	if got := c.instance(t, "tok").Spec.OperatorVersion.Name; got != "tok-1.0-0.1.0" {
		t.Errorf("a dry run upgraded to %s", got)
	}

	c.must(t, consented...)
	instance := c.instance(t, "tok")
	want := map[string]string{"REALM": "r", "ZONE": "eu", "LATER": "set", "FREE": "new", "NEW": "D", "BARE": "b"}
	if diff := cmp.Diff(want, instance.Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	consent := `{"operatorVersion":"tok-1.0-0.2.0","names":["BARE","FREE","LATER","NEW"]}`
	if diff := cmp.Diff(consent, instance.Annotations[api.ConsentAnnotation]); diff != "" {
		t.Errorf("consent (-want +got):\n%s", diff)
	}
	c.fails(t, "operator version tok-1.0-0.1.0 is lower than tok-1.0-0.2.0", "upgrade", older)
	c.fails(t, "there is no instance other", "upgrade", newer, "--instance", "other")
}

// testRollback checks that the command rollback restores version and values.
func testRollback(t *testing.T, c cluster) {
	c.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "-p", "SIZE=8", "--instance", "tok")
	c.fails(t, "no version is recorded to roll back to", "rollback", "tok")
	values := c.instance(t, "tok").Spec.Parameters
	c.must(t, "upgrade", tok(t, "0.2.0", second), "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l", "-p", "SIZE=1")
	if out := c.must(t, "plan", "history", "tok"); !strings.Contains(out, "tok-1.0-0.1.0      5 recorded\n") {
		t.Errorf("history:\n%s", out)
	}
	if out := c.must(t, "rollback", "tok", "--dry-run"); !strings.Contains(out, "SIZE        1     8     mutable") {
		t.Errorf("dry run:\n%s", out)
	}
	c.must(t, "rollback", "tok")
	instance := c.instance(t, "tok")
	if instance.Spec.OperatorVersion.Name != "tok-1.0-0.1.0" {
		t.Errorf("version %s", instance.Spec.OperatorVersion.Name)
	}
	if diff := cmp.Diff(values, instance.Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// testZooKeeper installs and upgrades the ZooKeeper example through all its versions.
func testZooKeeper(t *testing.T, c cluster) {
	version := func(number string) string {
		return filepath.Join("..", "..", "..", "examples", "operators", "zookeeper", number)
	}
	c.must(t, "install", version("0.1.0"), "--instance", "zookeeper", "-p", "CLUSTER_NAME=main")
	c.fails(t, `upgrade refused:
parameter 'POD_POLICY' was changed to immutable in operator version 0.2.0 but no value was provided
parameter 'BACKUP_CLASS' was added in operator version 0.2.0, but no value was provided (default would be "")`, "upgrade", version("0.2.0"))
	consent := []string{"upgrade", version("0.2.0"), "--accept-immutable", "POD_POLICY", "--accept-immutable", "BACKUP_CLASS"}
	if out := c.must(t, append(consent, "--dry-run")...); !strings.Contains(out, "+++ PersistentVolumeClaim ") {
		t.Errorf("dry run:\n%s", out)
	}
	c.must(t, consent...)
	c.must(t, "upgrade", version("0.3.0"), "-p", "TENANT=us", "-p", "CLUSTER_NAME=renamed")
}
