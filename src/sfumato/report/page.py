"""The page and its style: light and dark, screen and print."""

from __future__ import annotations

from sfumato.report.style import DARK

__all__ = ["PAGE", "STYLE"]


def _recolored() -> str:
    """Rules that give the pictures the dark page's colors."""
    return "".join(
        f'svg [{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in DARK.items()
        for attribute in ("fill", "stroke")
    )


STYLE = (
    """
:root{--paper:#fff;--ink:#1f2933;--muted:#5a6672;--line:#e1e5ea;--wash:#f5f7f9;--accent:#1f5fa8;color-scheme:light dark}
@media screen and (prefers-color-scheme:dark){
:root{--paper:#14191f;--ink:#e8edf2;--muted:#a3afbb;--line:#313a44;--wash:#1c232b;--accent:#7db6f5}
"""
    + _recolored()
    + """}
*{box-sizing:border-box}
body{margin:0 auto;padding:3.5rem 1.5rem 5rem;max-width:54rem;background:var(--paper);color:var(--ink);
font:1.0625rem/1.6 Charter,"Bitstream Charter","Iowan Old Style",Georgia,"Liberation Serif",serif;
font-variant-numeric:lining-nums;hyphens:manual}
h1,h2,nav,dl,table,.badge,.over,summary,footer{
font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif}
h1{font-size:2.1rem;line-height:1.15;letter-spacing:-.015em;margin:.2rem 0 .6rem}
h2{font-size:1.2rem;margin:2.8rem 0 .6rem}
p,.promise{max-width:46rem}
.over{font-size:.85rem;color:var(--muted);margin:0}
.promise{border-left:4px solid var(--accent);background:var(--wash);padding:1rem 1.3rem;margin:1.2rem 0;
font-size:1.1rem}
nav ol{columns:2;padding-left:1.2rem;font-size:.9rem}
a{color:var(--accent);text-underline-offset:2px}
section{border-top:1px solid var(--line);padding-top:1.8rem;margin-top:2.6rem}
section h2{margin-top:0;margin-bottom:.1rem}
figure{margin:.8rem 0 .4rem -8px}
svg{max-width:100%;height:auto;display:block}
.badge{display:inline-block;margin:.3rem 0 .9rem;padding:.15rem .7rem;border:1px solid var(--line);border-radius:1rem;
font-size:.82rem;color:var(--muted)}
.badge.known{border-color:var(--accent);color:var(--accent)}
dl{display:grid;grid-template-columns:7rem 1fr;gap:.45rem 1rem;margin:0 0 1rem;font-size:.88rem;line-height:1.5}
dt{color:var(--muted)}dd{margin:0}
code{font:.82em ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;overflow-wrap:anywhere}
pre{background:var(--wash);padding:.8rem 1rem;white-space:pre-wrap;margin:.8rem 0}
details{margin:.8rem 0}summary{cursor:pointer;font-size:.88rem;color:var(--muted)}
table{border-collapse:collapse;width:100%;margin:.6rem 0;font-size:.88rem;font-variant-numeric:tabular-nums lining-nums}
th,td{text-align:left;padding:.32rem .6rem;border-bottom:1px solid var(--line)}
th{font-weight:600;color:var(--muted)}.n{text-align:right}
footer{border-top:1px solid var(--line);margin-top:3rem;padding-top:1.2rem;font-size:.88rem}
@media (max-width:34rem){nav ol{columns:1}dl{grid-template-columns:1fr;gap:.1rem}dd{margin-bottom:.5rem}}
@media print{body{max-width:none;padding:0;font-size:10.5pt}section,figure,table,.promise{break-inside:avoid}
nav{display:none}details::details-content{content-visibility:visible}a{color:inherit}}
"""
)

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: private releases</title>{mark}<style>{style}</style></head><body>
<header><p class="over">{over} · {date}</p><h1>{title}</h1></header>
{note}
<p class="promise">{promise}</p>
<p>{meaning}</p>
<nav><ol>{contents}</ol></nav>
<h2>What has been spent</h2>
<figure>{gauge}</figure>
<p>The promise above is about everything that was charged to the ledger when this page was written, on {date}, the
{count} of this page included; what is released later adds to it. For ever, everything in this ledger together stays
within its budget {budget}, of which {remaining} was left that day.</p>
{versions}
{beliefs}
<p>{together}</p>
{declared}
<h2>How to read the error bars</h2>
<p>{covers}</p>
<p>A certificate says how far the error is from the best that any mechanism of the named class could reach under the
same guarantee. “No bound known” means that no proof is known of how good an answer could be, not that this one is
bad.</p>
{releases}
<footer><p>Every release was charged to the ledger before it was computed, and stored in it before it was shown. The
ledger&#8217;s head after these releases shows later edits: keep it.</p>
<details><summary>The head, and how to check the ledger</summary><pre><code>{head}</code></pre>
<p>Whoever holds the ledger can show that nothing was removed or changed since:</p>
<pre><code>sfumato ledger verify {ledger} --head {head}</code></pre></details>
<p>Made with Sfumato {version}. Nothing on this page comes from the data except through the releases.</p></footer>
</body></html>
"""
