package kudo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/apiserver/servertest"
	"holdfast.dev/holdfast/operator/api"
)

// One server serves all; every test has a namespace of its own.
func TestOnline(t *testing.T) {
	w := start(t)
	for name, test := range map[string]func(*testing.T, world){
		"install":       testInstall,
		"update":        testUpdate,
		"upgrade":       testUpgrade,
		"rollback":      testRollback,
		"plans":         testPlans,
		"get-uninstall": testGetAndUninstall,
		"zookeeper":     testZooKeeper,
		"left-behind":   testNothingIsLeftBehind,
	} {
		t.Run(name, func(t *testing.T) { test(t, w.enter(t, name)) })
	}
}

func testInstall(t *testing.T, w world) {
	folder := tok(t, "0.1.0", first)
	// Every refusal at once, and nothing written.
	w.fails(t, `install refused:
parameter 'SIZE' has the value 'many', which is not of type integer
parameter 'REALM' is required but no value was provided
parameter 'OTHER' is unknown: operator version tok-1.0-0.1.0 has no such parameter`, "install", folder, "-p", "SIZE=many", "-p", "OTHER=1")
	_, err := w.kudo(t.Context(), "install", folder, "-p", "OTHER=1", "--accept-immutable", "STRANGE")
	if err == nil {
		t.Fatal("installed")
	}
	for _, want := range []string{
		"parameter 'REALM'", "parameter 'OTHER' is unknown: operator version tok-1.0-0.1.0 has no such parameter", "parameter 'STRANGE' is unknown",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if got := w.names(t, "operators") + w.names(t, "operatorversions") + w.names(t, "instances"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	w.fails(t, `context "none" does not exist`, "get", "--context", "none")
	w.fails(t, `--parameter "SIZE": not NAME=VALUE`, "install", folder, "-p", "SIZE")

	// The defaults of what is immutable are pinned; -p goes before a file.
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("REALM: r\nSIZE: 7\nLATER: null\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := w.must(t, "install", folder, "-P", file, "-p", "SIZE=4", "--instance", "one")
	if diff := cmp.Diff("instance one of tok-1.0-0.1.0 installed\n", out); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{"REALM": "r", "SIZE": "4", "ZONE": "eu", "FREE": "f", "GONE": "g"}
	if diff := cmp.Diff(want, w.instance(t, "one").Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	w.fails(t, "instance one is in namespace install already", "install", folder, "-p", "REALM=r", "--instance", "one")
	w.must(t, "install", folder, "-p", "REALM=r")
	// A version is what it is.
	w.fails(t, "operator version tok-1.0-0.1.0 is in namespace install already, with other content",
		"install", tok(t, "0.1.0", first+"- {name: MORE, default: m}\n"), "-p", "REALM=r", "--instance", "two")
}

func testUpdate(t *testing.T, w world) {
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("REALM: other\nZONE: null\nSIZE: 9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := w.instance(t, "tok").Spec.Parameters
	w.fails(t, `update refused:
parameter 'REALM' is immutable but was changed from 'r' to 'other'
parameter 'ZONE' is immutable but was removed (value 'eu')`, "update", "tok", "-P", file)
	w.fails(t, "parameter 'OTHER' is unknown", "update", "tok", "-p", "OTHER=1")
	w.fails(t, "there is no instance none in namespace update", "update", "none", "-p", "SIZE=1")
	w.fails(t, "give parameters with -p or -P", "update", "tok")
	if diff := cmp.Diff(before, w.instance(t, "tok").Spec.Parameters); diff != "" {
		t.Errorf("a refused update changed (-want +got):\n%s", diff)
	}
	// With the values they have, immutable parameters may be given.
	w.must(t, "update", "tok", "-p", "REALM=r", "-p", "ZONE=eu", "-p", "SIZE=9")
	if got := w.instance(t, "tok").Spec.Parameters["SIZE"]; got != "9" {
		t.Errorf("SIZE is %q", got)
	}
}

func testUpgrade(t *testing.T, w world) {
	older, newer := tok(t, "0.1.0", first), tok(t, "0.2.0", second)
	w.must(t, "install", older, "-p", "REALM=r", "-p", "LATER=set")
	refusals := `upgrade refused:
parameter 'LATER' was changed to immutable in operator version 0.2.0 but no value was provided
parameter 'NEW' was added in operator version 0.2.0, but no value was provided (default would be D)
parameter 'BARE' was added in operator version 0.2.0, but no value was provided`
	w.fails(t, refusals, "upgrade", newer)
	out := w.fails(t, refusals, "upgrade", newer, "--dry-run")
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
	w.fails(t, "parameter 'REALM' is immutable but was changed from 'r' to 's'", "upgrade", newer, "-p", "REALM=s")
	if got := w.names(t, "operatorversions"); got != "tok-1.0-0.1.0" {
		t.Errorf("operator versions: %s", got)
	}

	given := []string{"upgrade", newer, "-p", "BARE=b", "-p", "FREE=new", "--accept-immutable", "LATER", "--accept-immutable", "NEW"}
	out = w.must(t, append(given, "--dry-run")...)
	for _, want := range []string{"-  GONE: g\n", "+  NEW: D\n", "+  token: (hidden, another value)\n", "resources: 2 differ, 0 stay as they are\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "hush") {
		t.Errorf("a Secret is shown:\n%s", out)
	}
	if got := w.instance(t, "tok").Spec.OperatorVersion.Name; got != "tok-1.0-0.1.0" {
		t.Errorf("a dry run upgraded to %s", got)
	}

	w.must(t, given...)
	instance := w.instance(t, "tok")
	want := map[string]string{"REALM": "r", "ZONE": "eu", "LATER": "set", "FREE": "new", "NEW": "D", "BARE": "b"}
	if diff := cmp.Diff(want, instance.Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	consent := `{"operatorVersion":"tok-1.0-0.2.0","names":["BARE","FREE","LATER","NEW"]}`
	if diff := cmp.Diff(consent, instance.Annotations[api.GivenAnnotation]); diff != "" {
		t.Errorf("consent (-want +got):\n%s", diff)
	}
	w.fails(t, "operator version tok-1.0-0.1.0 is lower than tok-1.0-0.2.0", "upgrade", older)
	w.fails(t, "there is no instance other", "upgrade", newer, "--instance", "other")
}

func testRollback(t *testing.T, w world) {
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r", "-p", "SIZE=8")
	w.fails(t, "no version is recorded to roll back to", "rollback", "tok")
	values := w.instance(t, "tok").Spec.Parameters
	w.must(t, "upgrade", tok(t, "0.2.0", second), "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l", "-p", "SIZE=1")
	// Admission records what was left; a server without it has it from here.
	instance := w.instance(t, "tok")
	if instance.Annotations[api.RecordsAnnotation] == "" {
		if err := api.SetRecords(instance, []api.Record{{OperatorVersion: "tok-1.0-0.1.0", Parameters: values}}); err != nil {
			t.Fatal(err)
		}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, api.RecordsAnnotation, instance.Annotations[api.RecordsAnnotation])
		if err := w.patch(t.Context(), "tok", patch); err != nil {
			t.Fatal(err)
		}
	}
	if out := w.must(t, "plan", "history", "tok"); !strings.Contains(out, "tok-1.0-0.1.0      5 recorded\n") {
		t.Errorf("history:\n%s", out)
	}
	if out := w.must(t, "rollback", "tok", "--dry-run"); !strings.Contains(out, "SIZE        1     8     mutable") {
		t.Errorf("dry run:\n%s", out)
	}
	w.must(t, "rollback", "tok")
	instance = w.instance(t, "tok")
	if instance.Spec.OperatorVersion.Name != "tok-1.0-0.1.0" {
		t.Errorf("version %s", instance.Spec.OperatorVersion.Name)
	}
	if diff := cmp.Diff(values, instance.Spec.Parameters); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func testPlans(t *testing.T, w world) {
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	w.fails(t, "'none'", "plan", "trigger", "tok", "none")
	out, err := w.trigger(t, "break", api.FatalError)
	if err == nil || !strings.HasPrefix(err.Error(), "plan 'break' ended with FATAL_ERROR: ") {
		t.Errorf("break: %v\n%s", err, out)
	}
	out, err = w.trigger(t, "backup", api.Complete)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"plan backup of instance tok triggered\n", "backup/save/copy [COMPLETE]", "backup [COMPLETE]\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if out := w.must(t, "plan", "status", "tok"); !strings.Contains(out, "backup [COMPLETE]\n└── save [COMPLETE]\n    └── copy [COMPLETE]") {
		t.Errorf("status:\n%s", out)
	}
	if out := w.must(t, "plan", "history", "tok"); !strings.Contains(out, "backup   COMPLETE") {
		t.Errorf("history:\n%s", out)
	}
}

// trigger runs a plan to its end.
func (w world) trigger(t *testing.T, plan string, end api.State) (string, error) {
	t.Helper()
	w.settle(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.control(ctx, plan, end) }()
	out, err := w.kudo(t.Context(), "plan", "trigger", "tok", plan, "--wait", "--timeout", "0")
	cancel()
	if failed := <-done; failed != nil && !wait.Interrupted(failed) {
		t.Error(failed)
	}
	return out, err
}

// control does what a controller does with a plan that is asked for: it writes how
// far the run is.
func (w world) control(ctx context.Context, plan string, end api.State) error {
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		object, err := w.resource("instances").Get(ctx, "tok", metav1.GetOptions{})
		if err != nil {
			return false, ignoreCanceled(ctx, err)
		}
		name, _, _ := unstructured.NestedString(object.Object, "spec", "planExecution", "planName")
		uid, _, _ := unstructured.NestedString(object.Object, "spec", "planExecution", "uid")
		if name != plan {
			return false, nil
		}
		for _, state := range []api.State{api.InProgress, end} {
			err := w.patch(ctx, "tok", fmt.Sprintf(`{"status":{"planStatus":{%q:{"name":%q,"uid":%q,"status":%q,
				"phases":[{"name":"save","status":%q,"steps":[{"name":"copy","status":%q,"message":"so it is"}]}]}}}}`,
				plan, plan, uid, state, state, state), "status")
			if err != nil {
				return false, ignoreCanceled(ctx, err)
			}
		}
		return true, nil
	})
}

// ignoreCanceled forgets the error of a request that was ended from here.
func ignoreCanceled(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

func testGetAndUninstall(t *testing.T, w world) {
	if out := w.must(t, "get"); out != "no instances in namespace get-uninstall\n" {
		t.Errorf("got %q", out)
	}
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	for what, want := range map[string]string{
		"instances": "tok    tok-1.0-0.1.0", "operators": "tok", "operatorversions": "tok-1.0-0.1.0   tok        0.1.0              1.0",
	} {
		if out := w.must(t, "get", what); !strings.Contains(out, "\n"+want) {
			t.Errorf("%s:\n%s", what, out)
		}
	}
	w.fails(t, "invalid argument", "get", "pods")
	if out := w.must(t, "uninstall", "tok", "--wait", "--timeout", "0"); out != "instance tok is gone\n" {
		t.Errorf("got %q", out)
	}
	w.fails(t, "there is no instance tok", "uninstall", "tok")
	if got := w.names(t, "operatorversions"); got != "tok-1.0-0.1.0" {
		t.Errorf("operator versions: %s", got)
	}
}

// The example goes through its versions.
func testZooKeeper(t *testing.T, w world) {
	version := func(number string) string {
		return filepath.Join("..", "..", "examples", "operators", "zookeeper", number)
	}
	w.must(t, "install", version("0.1.0"), "-p", "CLUSTER_NAME=main")
	w.fails(t, `upgrade refused:
parameter 'POD_POLICY' was changed to immutable in operator version 0.2.0 but no value was provided
parameter 'BACKUP_CLASS' was added in operator version 0.2.0, but no value was provided (default would be )`, "upgrade", version("0.2.0"))
	consent := []string{"upgrade", version("0.2.0"), "--accept-immutable", "POD_POLICY", "--accept-immutable", "BACKUP_CLASS"}
	if out := w.must(t, append(consent, "--dry-run")...); !strings.Contains(out, "+++ PersistentVolumeClaim ") {
		t.Errorf("dry run:\n%s", out)
	}
	w.must(t, consent...)
	w.must(t, "upgrade", version("0.3.0"), "-p", "TENANT=us", "-p", "CLUSTER_NAME=renamed")
}

// What the server refuses after all is taken back.
func testNothingIsLeftBehind(t *testing.T, w world) {
	w.fails(t, "Bad_Name", "install", tok(t, "0.1.0", first), "-p", "REALM=r", "--instance", "Bad_Name")
	if got := w.names(t, "operators") + w.names(t, "operatorversions"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	w.must(t, "install", tok(t, "0.1.0", first), "-p", "REALM=r")
	w.deny(t)
	size := 3
	servertest.Eventually(t, "updates are denied", func() bool {
		size++
		_, err := w.kudo(t.Context(), "update", "tok", "-p", fmt.Sprintf("SIZE=%d", size))
		return err != nil && strings.Contains(err.Error(), "not on Sundays")
	})
	w.fails(t, "not on Sundays", "upgrade", tok(t, "0.2.0", second), "-p", "BARE=b", "-p", "NEW=n", "-p", "LATER=l")
	if got := w.names(t, "operators") + " " + w.names(t, "operatorversions"); got != "tok tok-1.0-0.1.0" {
		t.Errorf("there are %s", got)
	}
}

// deny makes a policy that refuses every change of an Instance's spec.
func (w world) deny(t *testing.T) {
	t.Helper()
	policies := w.client.AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "sunday"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"kudo.dev"}, APIVersions: []string{"*"}, Resources: []string{"instances"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.spec.operatorVersion == oldObject.spec.operatorVersion && object.spec.parameters == oldObject.spec.parameters",
				Message:    "not on Sundays",
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = policies.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sunday"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "sunday", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
