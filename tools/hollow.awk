# hollow.awk reads the output of "make hollow". It prints a table with the median and the range of
# all runs of each case, and writes a bar chart of the memory for the agents to the file svg.
#
#   awk -v nodes=1000 -v svg=hollow.svg -f tools/hollow.awk hollow.txt

/^BenchmarkHollowNodes\// {
	split($1, part, "/")
	name = part[3]
	sub(/-[0-9]+$/, "", name) # the number of processors
	if (!(name in runs)) order[++cases] = name
	run = ++runs[name]
	for (i = 3; i < NF; i += 2) value[name, $(i + 1), run] = $i
}

# collect sorts the values of a column in all runs of a case into sorted, and returns their number.
function collect(name, unit,    i, j, n, v) {
	for (i = 1; i <= runs[name]; i++) {
		v = value[name, unit, i] + 0
		for (j = n; j > 0 && sorted[j] > v; j--) sorted[j + 1] = sorted[j]
		sorted[j + 1] = v
		n++
	}
	return n
}

# cell returns the median of a column times scale, with the range in parentheses.
function cell(name, unit, format, scale,    n, text) {
	n = collect(name, unit)
	text = sprintf(format, sorted[int((n + 1) / 2)] * scale)
	if (sorted[1] != sorted[n]) text = text sprintf(" (" format "-" format ")", sorted[1] * scale, sorted[n] * scale)
	return text
}

END {
	if (!cases) { print "no result of the benchmark" > "/dev/stderr"; exit 1 }
	scale = 1000 / nodes
	printf "| %d nodes | watches of objects per 1,000 nodes | server memory, MB | of it for the agents, MB per 1,000 nodes | server CPU until ready, s per 1,000 nodes | server CPU afterwards, ms/s per 1,000 nodes | ready after, s |\n", nodes
	print "|---|---|---|---|---|---|---|"
	for (c = 1; c <= cases; c++) {
		name = order[c]
		printf "| %s | %s | %s | %s | %s | %s | %s |\n", name, cell(name, "object-watches", "%d", scale),
			cell(name, "server-MB", "%d", 1), cell(name, "agents-MB", "%d", scale),
			cell(name, "server-cpu-s", "%.1f", scale), cell(name, "steady-cpu-ms/s", "%.1f", scale), cell(name, "ready-s", "%.1f", 1)
		n = collect(name, "agents-MB")
		low[c] = max(sorted[1] * scale, 0); middle[c] = max(sorted[int((n + 1) / 2)] * scale, 0); high[c] = max(sorted[n] * scale, 0)
		if (high[c] > top) top = high[c]
	}
	plot()
}

function max(a, b) { return a > b ? a : b }

# plot writes a horizontal bar for each case. A line at its end shows the range of all runs.
function plot(    c, y, width) {
	width = 420
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n", cases * 28 + 50 > svg
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>" > svg
	printf "<text x=\"10\" y=\"22\" font-size=\"15\">Memory of the server for the agents, in MB per 1,000 nodes</text>\n" > svg
	for (c = 1; c <= cases; c++) {
		y = c * 28 + 12
		printf "<text x=\"210\" y=\"%d\" text-anchor=\"end\">%s</text>\n", y + 15, order[c] > svg
		printf "<rect x=\"220\" y=\"%d\" width=\"%.1f\" height=\"20\" fill=\"#4878a8\"/>\n", y, middle[c] / top * width > svg
		printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"black\" stroke-width=\"2\"/>\n", \
			220 + low[c] / top * width, 220 + high[c] / top * width, y + 10, y + 10 > svg
		printf "<text x=\"%.1f\" y=\"%d\">%d</text>\n", 228 + high[c] / top * width, y + 15, middle[c] > svg
	}
	print "</svg>" > svg
}
