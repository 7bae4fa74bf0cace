package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
	"holdfast.dev/holdfast/internal/waittest"
	"holdfast.dev/holdfast/internal/yamltest"
)

// exitCode returns the exit code of a command.
func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.ExitCode()
	}
	return 1
}

// The command schema check names the objects that are no longer valid, and doctor the definitions that have some.
func TestSchemaCheck(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, apiserver.Config{})
	client := server.Cluster(t).Dynamic
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	define := func(plural, spec string) string {
		return fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.check.example.com}, spec: {group: check.example.com, "+
			"scope: Namespaced, names: {plural: %s, kind: %s}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: "+
			"{type: object, properties: {spec: {type: object, properties: {%s}}}}}}]}}", plural, plural, strings.ToUpper(plural), spec)
	}
	for _, plural := range []string{"boats", "ships"} {
		if _, err := definitions.Create(t.Context(), yamltest.Object(t, define(plural, "a: {type: string}")), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		objects := client.Resource(schema.GroupVersionResource{Group: "check.example.com", Version: "v1", Resource: plural}).Namespace("default")
		for _, name := range []string{"anna", "bert"} {
			object := fmt.Sprintf("{apiVersion: check.example.com/v1, kind: %s, metadata: {name: %s}, spec: {a: %s}}", strings.ToUpper(plural), name, name)
			if _, err := objects.Create(t.Context(), yamltest.Object(t, object), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	admin := []string{"--kubeconfig", server.Kubeconfig()}
	check := func(kubeconfig []string, args ...string) (string, int) {
		out, err := run(t.Context(), append(append([]string{"schema", "check"}, kubeconfig...), args...)...)
		if err != nil {
			out += err.Error()
		}
		return out, exitCode(err)
	}
	expect := func(what, out string, code, want int, texts ...string) {
		t.Helper()
		if code != want {
			t.Errorf("%s: exit code %d, want %d: %s", what, code, want, out)
		}
		for _, text := range texts {
			if !strings.Contains(out, text) {
				t.Errorf("%s: the output lacks %q: %s", what, text, out)
			}
		}
	}
	out, code := check(admin, "--objects", "cluster", "boats.check.example.com", "ships.check.example.com")
	expect("all valid", out, code, 0, "2 definitions with 4 objects: 0 invalid")

	narrow := `[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/enum", "value": ["anna"]}]`
	if _, err := definitions.Patch(t.Context(), "boats.check.example.com", types.JSONPatchType, []byte(narrow), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	const found = `boats.check.example.com default/bert: error: spec.a: Unsupported value: "bert": supported values: "anna" [invalid-object]`
	out, code = check(admin, "--objects", "cluster")
	expect("all definitions", out, code, 1, found+"\n", " invalid")
	if strings.Contains(out, "anna:") {
		t.Errorf("a valid object is named: %s", out)
	}
	out, code = check(admin, "--objects", "cluster", "boats.check.example.com")
	expect("one definition", out, code, 1, found, "1 definition with 2 objects: 1 invalid")
	out, code = check(admin, "--objects", "cluster", "gone.check.example.com", "boats.check.example.com")
	expect("a definition that does not exist", out, code, 2, found, `gone.check.example.com: customresourcedefinitions.apiextensions.k8s.io "gone.check.example.com" not found`,
		"1 definition with 2 objects: 1 invalid; the objects of 1 definition could not be read")
	out, code = check(admin, "--objects", "files")
	expect("another source", out, code, 2, `--objects "files": must be cluster`)
	out, code = check(admin)
	expect("no source", out, code, 2, `--objects "": must be cluster`)
	out, code = check(admin, "--objects", "cluster", "-o", "xml")
	expect("another format", out, code, 2, `output "xml"`)

	t.Run("formats", func(t *testing.T) {
		out, _ := check(admin, "--objects", "cluster", "-o", "json", "boats.check.example.com")
		var report struct {
			Findings                      []struct{ Rule, Object, Path, Message, File string }
			Definitions, Objects, Invalid int
		}
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&report); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if len(report.Findings) != 1 || report.Findings[0].Object != "boats.check.example.com default/bert" || report.Findings[0].Path != "spec.a" ||
			report.Definitions != 1 || report.Objects != 2 || report.Invalid != 1 {
			t.Errorf("%+v", report)
		}
		out, _ = check(admin, "--objects", "cluster", "-o", "sarif", "boats.check.example.com")
		var log struct {
			Version string
			Runs    []struct {
				Results []struct {
					RuleID    string
					Locations []map[string]any
				}
			}
		}
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&log); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 || log.Runs[0].Results[0].RuleID != "invalid-object" ||
			len(log.Runs[0].Results[0].Locations) != 1 || log.Runs[0].Results[0].Locations[0]["physicalLocation"] != nil {
			t.Errorf("%s", out)
		}
		for _, text := range []string{`"fullyQualifiedName": "boats.check.example.com default/bert/spec.a"`, `"text": "boats.check.example.com default/bert: spec.a: `} {
			if !strings.Contains(out, text) {
				t.Errorf("the output lacks %s: %s", text, out)
			}
		}
		out, _ = check(admin, "--objects", "cluster", "-o", "github", "boats.check.example.com")
		if !strings.Contains(out, "::error title=invalid-object::boats.check.example.com default/bert: spec.a: Unsupported") {
			t.Errorf("%s", out)
		}
	})

	// A user that may not list a kind is told so, and the other kinds are checked.
	manifests := fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: ann}, rules: ["+
		"{apiGroups: [%s], resources: [customresourcedefinitions], verbs: [get, list]}, {apiGroups: [check.example.com], resources: [boats], verbs: [list]}]}", "apiextensions.k8s.io")
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	if _, err := client.Resource(rbac.WithResource("clusterroles")).Create(t.Context(), yamltest.Object(t, manifests), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: ann}, " +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ann}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: ann}]}"
	if _, err := client.Resource(rbac.WithResource("clusterrolebindings")).Create(t.Context(), yamltest.Object(t, binding), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(server.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "ann"
	}
	file := filepath.Join(t.TempDir(), "ann.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "ann may list boats", func() bool {
		out, code = check([]string{"--kubeconfig", file}, "--objects", "cluster", "boats.check.example.com")
		return code == 1
	})
	out, code = check([]string{"--kubeconfig", file}, "--objects", "cluster")
	expect("a user without rights", out, code, 2, found, "holdfast: ships.check.example.com: ships.check.example.com is forbidden", "could not be read")

	waittest.Until(t, "doctor names the definition", func() error {
		out, err := run(t.Context(), "doctor", "--kubeconfig", server.Kubeconfig())
		for _, text := range []string{
			"boats.check.example.com has invalid objects: 1 of 2 stored objects would be refused if written again: spec.a: is not one of the allowed values (1)",
			"holdfast schema check --objects cluster boats.check.example.com",
		} {
			if !strings.Contains(out, text) {
				return fmt.Errorf("it lacks %s: %s", text, out)
			}
		}
		if exitCode(err) != 1 {
			return fmt.Errorf("exit code %d", exitCode(err))
		}
		if strings.Contains(out, "ships.check.example.com") {
			return fmt.Errorf("doctor names a definition without invalid objects: %s", out)
		}
		return nil
	})
}
