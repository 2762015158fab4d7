package report

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A picture shows one metric of the hand-over against the number of contenders.
type picture struct {
	file, metric, title, unit string
}

var plots = []picture{
	{"handover-p50.svg", "hand_p50", "Hand-over, median", "µs"},
	{"handover-rate.svg", "rate", "Hand-overs", "per second"},
	{"handover-bytes.svg", "bytes_out", "From the server, per hand-over", "bytes"},
}

// Plots draws the plots into dir.
func (r *Results) Plots(dir string) error {
	for _, p := range plots {
		if !r.plotted(p) {
			continue
		}
		if err := r.draw(p, filepath.Join(dir, p.file)); err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
	}
	return nil
}

// points returns where a peer's line goes.
func (r *Results) points(p picture, peer string) (points plotter.XYs) {
	for _, row := range r.Rows {
		if v := r.Value(row, peer, p.metric); row.Workload == "handover" && row.plain() && v.N > 0 && v.Median > 0 {
			points = append(points, plotter.XY{X: float64(row.N), Y: v.Median})
		}
	}
	return points
}

// plain reports whether nothing but its size distinguishes the row.
func (row Row) plain() bool { return row.Text == strconv.Itoa(row.N) }

// plotted reports whether there is a line to draw.
func (r *Results) plotted(p picture) bool {
	for _, peer := range peers {
		if len(r.points(p, peer)) > 1 {
			return true
		}
	}
	return false
}

// looks are colours and marks that can be told apart on light and on dark ground, and
// without colour.
var looks = map[string]struct {
	colour color.RGBA
	glyph  draw.GlyphDrawer
}{
	"floor":   {color.RGBA{128, 128, 128, 255}, draw.PlusGlyph{}},
	"zkcoord": {color.RGBA{214, 75, 60, 255}, draw.CircleGlyph{}},
	"zklock":  {color.RGBA{46, 134, 222, 255}, draw.BoxGlyph{}},
	"curator": {color.RGBA{39, 154, 104, 255}, draw.PyramidGlyph{}},
	"kazoo":   {color.RGBA{193, 138, 20, 255}, draw.CrossGlyph{}},
	"etcd":    {color.RGBA{155, 105, 220, 255}, draw.RingGlyph{}},
}

// ink is legible on light and on dark ground, and faint is there for the grid.
var (
	ink   = color.RGBA{125, 130, 138, 255}
	faint = color.NRGBA{125, 130, 138, 60}
)

// fonts are what a browser looks for.
const fonts = "Helvetica, Arial, sans-serif"

func (r *Results) draw(pic picture, file string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text = pic.title + ", " + pic.unit
	p.X.Label.Text = "contenders"
	p.X.Tick.Marker, p.Y.Tick.Marker = r.sizes(), ticks{}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Scale = plot.LogScale{}
		a.Color, a.Tick.Color, a.Tick.Label.Color, a.Label.TextStyle.Color = ink, ink, ink, ink
		a.Tick.Label.Font.Size, a.Label.TextStyle.Font.Size = 11, 12
	}
	p.Title.TextStyle.Color, p.Title.TextStyle.Font.Size = ink, 14
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	p.Add(grid)
	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	legend.TextStyle.Color, legend.TextStyle.Font.Size = ink, 12
	legend.Padding = vg.Points(3)
	for _, peer := range peers {
		points := r.points(pic, peer)
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		look := looks[peer]
		line.Color, line.Width = look.colour, vg.Points(1.5)
		if peer == "zkcoord" {
			line.Width = vg.Points(2.5)
		}
		marks.Color, marks.Shape, marks.Radius = look.colour, look.glyph, vg.Points(3.5)
		p.Add(line, marks)
		legend.Add(r.name(peer), line, marks)
	}
	const width, height, right = 7 * vg.Inch, 4 * vg.Inch, 1.2 * vg.Inch // of it all, and of the legend
	svg := vgsvg.New(width, height)
	canvas := draw.New(svg)
	p.Draw(draw.Crop(canvas, 4, -right, 4, -4))
	legend.Draw(draw.Crop(canvas, width-right+12, -4, 0, -30))
	var text bytes.Buffer
	if _, err := svg.WriteTo(&text); err != nil {
		return err
	}
	return os.WriteFile(file, bytes.ReplaceAll(text.Bytes(), []byte("Liberation Sans"), []byte(fonts)), 0o644)
}

// sizes marks each number of contenders.
func (r *Results) sizes() (all plot.ConstantTicks) {
	for _, row := range r.Rows {
		if row.Workload == "handover" && row.plain() {
			all = append(all, plot.Tick{Value: float64(row.N), Label: grouped(float64(row.N))})
		}
	}
	return all
}

// ticks marks 1, 2 and 5 of each decade.
type ticks struct{}

func (ticks) Ticks(least, greatest float64) (all []plot.Tick) {
	for decade := 1.0; decade <= greatest; decade *= 10 {
		for _, k := range []float64{1, 2, 5} {
			if v := k * decade; v >= least && v <= greatest {
				all = append(all, plot.Tick{Value: v, Label: grouped(v)})
			}
		}
	}
	return all
}
