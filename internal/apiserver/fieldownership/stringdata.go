package fieldownership

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/apiserver/requestbody"
)

// isSecretApply says whether a request applies a Secret on the server.
func isSecretApply(req *http.Request, info *genericapirequest.RequestInfo) bool {
	return info.Verb == "patch" && info.APIGroup == "" && info.Resource == "secrets" && info.Subresource == "" &&
		strings.HasPrefix(requestbody.MediaType(req), string(types.ApplyYAMLPatchType))
}

// foldStringData moves the stringData of an applied Secret into data, before the server
// records the managers of its fields. The manager would otherwise own fields of stringData,
// which no stored object has: another manager could change the key without a conflict. The
// body stays if it cannot be read; the handler then says why.
func foldStringData(req *http.Request, limit int64) {
	body, err := requestbody.Peek(req, limit)
	if err != nil {
		return
	}
	var secret map[string]json.RawMessage
	if yaml.UnmarshalStrict(body, &secret) != nil || secret["stringData"] == nil {
		return
	}
	var texts, data map[string]string
	if json.Unmarshal(secret["stringData"], &texts) != nil || secret["data"] != nil && json.Unmarshal(secret["data"], &data) != nil {
		return
	}
	if data == nil {
		data = map[string]string{}
	}
	for key, text := range texts {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return
	}
	delete(secret, "stringData")
	secret["data"] = encoded
	if body, err = json.Marshal(secret); err == nil {
		requestbody.Replace(req, body)
	}
}
