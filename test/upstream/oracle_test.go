package upstream_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// request and answer are the messages of the oracle; see test/oracle.
type request struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Stage      string          `json:"stage"`
	Object     json.RawMessage `json:"object,omitempty"`
	Old        json.RawMessage `json:"old,omitempty"`
}

type answer struct {
	Failure    string            `json:"failure,omitempty"`
	Unknown    []string          `json:"unknown,omitempty"`
	Defaulted  json.RawMessage   `json:"defaulted,omitempty"`
	Stored     json.RawMessage   `json:"stored,omitempty"`
	Errors     []cause           `json:"errors,omitempty"`
	Warnings   []string          `json:"warnings,omitempty"`
	Cells      []any             `json:"cells,omitempty"`
	Fields     map[string]string `json:"fields,omitempty"`
	Properties *properties       `json:"properties,omitempty"`
}

type cause struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

type properties struct {
	Namespaced          bool                           `json:"namespaced"`
	CreateOnUpdate      bool                           `json:"createOnUpdate"`
	UnconditionalUpdate bool                           `json:"unconditionalUpdate"`
	Dependents          string                         `json:"dependents"`
	Columns             []metav1.TableColumnDefinition `json:"columns"`
	ResetFields         map[string][]string            `json:"resetFields"`
}

// oracle is the running program with the code of Kubernetes.
type oracle struct {
	t       *testing.T
	input   *json.Encoder
	answers *json.Decoder
}

// startOracle builds the program and starts it until the test ends.
func startOracle(t *testing.T) *oracle {
	t.Helper()
	program := filepath.Join(t.TempDir(), "oracle")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "oracle")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the oracle: %v\n%s", err, output)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_, _ = io.Copy(io.Discard, output)
		_ = command.Wait()
	})
	return &oracle{t: t, input: json.NewEncoder(input), answers: json.NewDecoder(bufio.NewReader(output))}
}

// ask returns the answer of Kubernetes to a request.
func (o *oracle) ask(r request) answer {
	o.t.Helper()
	if err := o.input.Encode(r); err != nil {
		o.t.Fatalf("ask the oracle: %v", err)
	}
	var a answer
	if err := o.answers.Decode(&a); err != nil {
		o.t.Fatalf("read the answer of the oracle: %v", err)
	}
	return a
}
