package main

import (
	"bytes"
	"fmt"
	"math"
	"time"
)

// The sizes in the picture, in its units.
const (
	width  = 900.0
	height = 130.0 // of a panel
	left   = 120.0
	right  = 30.0
	above  = 28.0 // of a panel, for its title
)

// plot draws a panel for each metric: a line through all samples, a dot for each at rest, and
// a shade for each fault.
func plot(samples []sample) []byte {
	var b bytes.Buffer
	total := (height + above) * float64(len(metrics))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#7d828a">`+"\n", width, total+30)
	end := time.Second
	if len(samples) > 0 {
		end = max(end, samples[len(samples)-1].at)
	}
	x := func(at time.Duration) float64 { return left + (width-left-right)*at.Seconds()/end.Seconds() }
	for i, m := range metrics {
		panel(&b, samples, i, m.name, float64(i)*(height+above)+above, x)
	}
	for i := range 7 {
		at := end * time.Duration(i) / 6
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%v</text>`+"\n", x(at), total+18, at.Round(time.Second))
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// panel draws one metric below top.
func panel(b *bytes.Buffer, samples []sample, metric int, name string, top float64, x func(time.Duration) float64) {
	greatest := 0.0
	for _, s := range samples {
		if v := s.values[metric]; !math.IsNaN(v) {
			greatest = max(greatest, v)
		}
	}
	scale := round(greatest)
	y := func(v float64) float64 { return top + height*(1-v/scale) }
	fmt.Fprintf(b, `<text x="%g" y="%g" font-size="14">%s</text>`+"\n", left, top-8, name)
	for _, v := range []float64{0, scale / 2, scale} {
		fmt.Fprintf(b, `<path d="M%g %.1fH%g" stroke="#7d828a" stroke-opacity=".25"/><text x="%g" y="%.1f" text-anchor="end">%g</text>`+"\n", left, y(v), width-right, left-8, y(v)+4, v)
	}
	for i, s := range samples {
		if s.note != "" && s.note != "rest" && i > 0 {
			from := x(samples[i-1].at)
			fmt.Fprintf(b, `<rect x="%.1f" y="%g" width="%.1f" height="%g" fill="#c18a14" fill-opacity=".3"><title>%s</title></rect>`+"\n", from, top, x(s.at)-from, height, s.note)
		}
	}
	line, drawing := new(bytes.Buffer), false
	for _, s := range samples {
		v := s.values[metric]
		if math.IsNaN(v) {
			drawing = drawing && metric == heap // which is known at rest alone
			continue
		}
		fmt.Fprintf(line, "%c%.1f %.1f", "ML"[btoi(drawing)], x(s.at), y(v))
		drawing = true
	}
	if line.Len() > 0 {
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="#2e86de" stroke-width="1"/>`+"\n", line)
	}
	for _, s := range samples {
		if v := s.values[metric]; s.note == "rest" && !math.IsNaN(v) {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="#d64b3c"/>`+"\n", x(s.at), y(v))
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// round returns the least of 1, 2, 5, 10, 20 and so on that is not less than v.
func round(v float64) float64 {
	for decade := 1.0; ; decade *= 10 {
		for _, k := range []float64{1, 2, 5} {
			if k*decade >= v {
				return k * decade
			}
		}
	}
}
