package assessment_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/internal/definition"
	"holdfast.dev/holdfast/internal/definition/assessment"
	"holdfast.dev/holdfast/internal/yamltest"
)

// A change of thousands of fields has an answer, warnings and an audit annotation of a size that logs and clients can take.
func TestBounds(t *testing.T) {
	t.Parallel()
	const fields = 250
	var properties, values []string
	for i := range fields {
		properties = append(properties, fmt.Sprintf("f%03d: {type: string}", i))
		values = append(values, fmt.Sprintf("f%03d: x", i))
	}
	old := define(t, "{type: object, properties: {"+strings.Join(properties, ", ")+"}}")
	report, err := assessment.Compare(old, define(t, "{type: object}"))
	if err != nil {
		t.Fatal(err)
	}
	report.Add(t.Context(), "anna", yamltest.Map(t, "{apiVersion: example.com/v1, kind: Boat, metadata: {name: anna}, spec: {"+strings.Join(values, ", ")+"}}"))
	names := func() bool { return true }
	var refused apierrors.APIStatus
	if !errors.As(report.Refuse(definition.RefuseLoss, names), &refused) {
		t.Fatal("not refused")
	}
	status := refused.Status()
	last := status.Details.Causes[len(status.Details.Causes)-1].Message
	if len(status.Details.Causes) != 100 || !strings.Contains(last, "; 150 changes more; the policy refuse-loss of the definition refuses this") {
		t.Errorf("%d causes, the last one: %s", len(status.Details.Causes), last)
	}
	if strings.Count(status.Message, "the field is gone") != 10 || !strings.Contains(status.Message, "; 240 changes more; the policy") {
		t.Errorf("message %s", status.Message)
	}
	losses := report.Losses()
	if len(losses) != 11 || !strings.HasSuffix(losses[9], "properties[f009]") || losses[10] != "240 changes more" {
		t.Errorf("losses %q", losses)
	}
	warnings := report.Warnings(definition.Warn, names)
	if len(warnings) != 11 || !strings.HasSuffix(warnings[10], ": 240 changes more, see holdfast schema diff") {
		t.Errorf("warnings %q", warnings)
	}
}
