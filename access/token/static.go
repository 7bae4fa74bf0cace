package token

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
)

// NewStatic reads a file of lines "token,user,uid,"group1,group2"", as
// Kubernetes has it. It is read once; its tokens do not expire and are good for
// the audiences of the API.
func NewStatic(path string, api authenticator.Audiences) (authenticator.Token, error) {
	file, err := tokenfile.NewCSV(path)
	if err != nil {
		return nil, fmt.Errorf("read token file %s: %w", path, err)
	}
	return authenticator.WrapAudienceAgnosticToken(api, file), nil
}
