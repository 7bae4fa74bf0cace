package rules

// kindRules is the whole table, by area.
func kindRules() [][]rule {
	return [][]rule{
		selectorRules(),
		podRules(), containerRules(), envRules(), probeRules(), resourceRules(), volumeRules(), schedulingRules(), securityRules(),
		workloadRules(), jobRules(),
	}
}

func statusRules() []rule { return nil }
