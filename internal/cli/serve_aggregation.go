package cli

import "github.com/spf13/pflag"

// addAggregationFlags adds the flags for the calls of aggregated API servers.
func (s *serveSettings) addAggregationFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.config.ProxyClient.CertFile, "proxy-client-cert-file", "", "client certificate for aggregated API servers, signed by "+
		"an authority of --requestheader-client-ca-file (default: one that the server makes, with an authority of its own)")
	flags.StringVar(&s.config.ProxyClient.KeyFile, "proxy-client-key-file", "", "key of --proxy-client-cert-file")
}
