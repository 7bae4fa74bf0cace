package custom

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/apiserver/requestbody"
)

// isApply says whether a request is a server-side apply.
func isApply(req *http.Request) bool {
	return types.PatchType(requestbody.MediaType(req)) == types.ApplyYAMLPatchType
}

// pruneApplied prunes the configuration that a request applies, in the request,
// before it is merged: so nobody comes to own a field that does not exist. It is
// never defaulted, since what a manager leaves out it does not own.
func (v *version) pruneApplied(req *http.Request) error {
	body, err := requestbody.Read(req, v.resource.server.config.MaxBody)
	if err != nil {
		return err
	}
	directive := req.URL.Query().Get("fieldValidation")
	applied, sound := v.decodeSound(body)
	if !sound {
		if applied, err = decodeApplied(req, directive, body); err != nil {
			return err
		}
	}
	name := ""
	if meta, ok := applied["metadata"].(map[string]any); ok {
		name, _ = meta["name"].(string)
	}
	if err := v.wrongTypes(name, v.compiled.Skeleton.Check(applied)); err != nil {
		return err
	}
	if v.compiled.Pruned && applied != nil {
		if err := report(req, directive, v.compiled.Skeleton.PrunePaths(applied)); err != nil {
			return err
		}
	}
	var pruned bytes.Buffer
	if err := v.resource.server.format.Encode(&pruned, applied); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	requestbody.Replace(req, pruned.Bytes())
	return nil
}

// decodeSound reads a configuration that is JSON with nothing wrong in it, which
// is what Go clients send.
func (v *version) decodeSound(body []byte) (map[string]any, bool) {
	if !bytes.HasPrefix(body, []byte("{")) {
		return nil, false
	}
	applied, twice, err := v.resource.server.format.DecodeStrict(body)
	return applied, err == nil && len(twice) == 0
}

// decodeApplied reads YAML and says what is wrong in it as the request wants it
// said. Integers stay exact.
func decodeApplied(req *http.Request, directive string, body []byte) (map[string]any, error) {
	data, err := yaml.YAMLToJSON(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	var applied map[string]any
	if err := utiljson.Unmarshal(data, &applied); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if directive == metav1.FieldValidationIgnore {
		return applied, nil
	}
	if err := yaml.UnmarshalStrict(body, &map[string]any{}); err != nil {
		if directive == metav1.FieldValidationStrict {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		// A warning is one line, or it is lost on the way.
		warning.AddWarning(req.Context(), "", strings.Join(strings.Fields(err.Error()), " "))
	}
	return applied, nil
}

// report says which fields were unknown, as the request wants it said.
func report(req *http.Request, directive string, unknown []string) error {
	if len(unknown) == 0 || directive == metav1.FieldValidationIgnore {
		return nil
	}
	var said []string
	for _, path := range unknown {
		said = append(said, fmt.Sprintf("unknown field %q", path))
	}
	if directive == metav1.FieldValidationStrict {
		return apierrors.NewBadRequest("error strict decoding patch: strict decoding error: " + strings.Join(said, ", "))
	}
	for _, text := range said {
		warning.AddWarning(req.Context(), "", text)
	}
	return nil
}
