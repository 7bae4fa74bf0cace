package projection_test

import (
	"encoding/pem"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/projection"
	"holdfast.dev/holdfast/internal/yamltest"
)

// anchors returns PEM blocks with the given contents.
func anchors(contents ...string) string {
	var text strings.Builder
	for _, content := range contents {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(content)}))
	}
	return text.String()
}

// TestTrustBundles checks which bundles a source selects, and that the file has each certificate
// once, in a fixed order.
func TestTrustBundles(t *testing.T) {
	bundles := []projection.TrustBundle{
		{Name: "plain", PEM: "a comment\n" + anchors("b", "a", "b")},
		{Name: "example.com:s:1", Signer: "example.com/s", Labels: map[string]string{"live": "yes"}, PEM: anchors("c", "a")},
		{Name: "example.com:s:2", Signer: "example.com/s", PEM: anchors("b", "c")},
	}
	tests := map[string]struct{ source, want, wantErr string }{
		"name":          {source: "{name: plain, path: ca}", want: anchors("a", "b")},
		"unknown name":  {source: "{name: gone, path: ca}", wantErr: "clustertrustbundle gone not found"},
		"optional name": {source: "{name: gone, optional: true, path: ca}", want: ""},
		"labels": {
			source: "{signerName: example.com/s, labelSelector: {matchLabels: {live: 'yes'}}, path: ca}", want: anchors("a", "c"),
		},
		"all of a signer": {source: "{signerName: example.com/s, labelSelector: {}, path: ca}", want: anchors("a", "b", "c")},
		"no selector selects nothing": {
			source: "{signerName: example.com/s, path: ca}", wantErr: "no clustertrustbundle of signer example.com/s has the labels <none>",
		},
		"unknown signer": {
			source:  "{signerName: example.com/t, labelSelector: {matchLabels: {live: 'yes'}}, path: ca}",
			wantErr: "no clustertrustbundle of signer example.com/t has the labels live=yes",
		},
		"optional signer": {source: "{signerName: example.com/t, labelSelector: {}, optional: true, path: ca}", want: ""},
		"bad selector": {
			source:  "{signerName: example.com/s, labelSelector: {matchExpressions: [{key: a, operator: Near}]}, path: ca}",
			wantErr: `clusterTrustBundle for ca: "Near" is not a valid label selector operator`,
		},
		"bad path": {source: "{name: plain, path: ../ca}", wantErr: `path "../ca": must not contain ".."`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			volume := *yamltest.Decode[corev1.Volume](t, "projected: {sources: [{clusterTrustBundle: "+test.source+"}]}")
			if !projection.UsesTrustBundles(&volume) {
				t.Error("the volume uses no bundles")
			}
			payload, err := projection.Collect(&corev1.Pod{}, &volume, projection.Sources{TrustBundles: bundles})
			if test.wantErr != "" {
				if err == nil || err.Error() != test.wantErr {
					t.Errorf("%v\nwant %s", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(payload["ca"].Data)); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
}
