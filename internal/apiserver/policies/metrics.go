package policies

import "github.com/prometheus/client_golang/prometheus"

// Collectors returns the metrics of the rules.
func (r *Rules) Collectors() []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "holdfast_rules_dir_wrong", Help: "1 if a file of --rules-dir is wrong, and the last policies of the files stay in force.",
		}, func() float64 {
			if *r.files.problem.Load() != "" {
				return 1
			}
			return 0
		}),
	}
}
