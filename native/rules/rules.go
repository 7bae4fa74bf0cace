package rules

func kindRules() [][]rule {
	return [][]rule{}
}
func statusRules() []rule { return nil }
