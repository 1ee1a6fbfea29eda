"""Calls of public functions: mypy has to reject each line that ends in ``# rejected``, and accept the others.

Nothing here is executed; `tests/test_misuses.py` reads what mypy says.
"""

import nmtalign as na

PAIRS = [("a house", "une maison")]
aligner = na.load()
pair = aligner.align("the cat", "le chat")
batch = aligner.align_batch(PAIRS)
matrix = pair.matrix

na.load("model", threshold=0.5)
na.load("model", treshold=0.5)  # rejected
na.load("model", threshold="high")  # rejected
na.load("model", extract="mutual")
na.load("model", extract="mutal")  # rejected
na.load("model", symmetrize="union")
na.load("model", symmetrize="joined")  # rejected
na.load("model", unicode="nfkc")
na.load("model", unicode="nfx")  # rejected
na.load("model", lowercase=True)
na.load("model", lowercase="yes")  # rejected
na.load("vectors", score="dot", positions="hmm", unknown="backoff")
na.load("vectors", score="dots")  # rejected
na.load("vectors", positions="hidden")  # rejected
na.load("vectors", unknown="skip")  # rejected
na.load("vectors", limit=1000)
na.load("vectors", limit="1000")  # rejected
na.load("vectors", languages=("en", "fr"))
na.load("vectors", languages="en-fr")  # rejected
na.load(5)  # rejected

na.train(PAIRS, preset="fast")
na.train(PAIRS, preset="fats")  # rejected
na.train(PAIRS, workers=2)
na.train(PAIRS, n_jobs=2)  # rejected
na.train(PAIRS, workers="2")  # rejected
na.train(PAIRS, seed=1)  # rejected
na.train(PAIRS, vectors_weight=0.5)
na.train(PAIRS, vectors_weight="half")  # rejected
na.train(PAIRS, sample=1_000)
na.train(PAIRS, sample="1000")  # rejected
na.train()  # rejected

na.fit_to(aligner, PAIRS)
na.fit_to("model", PAIRS)  # rejected
na.fit_to(aligner, PAIRS, workers=2)  # rejected

english = na.load_embeddings("en.vec", format="word2vec")
french = na.load_embeddings("fr.vec", limit=1000)
na.load_embeddings("en.vec", format="glove")  # rejected
na.load_embeddings("en.vec", limits=1000)  # rejected
na.load_embeddings(3)  # rejected
na.vector_aligner(english, french, score="cosine")
na.vector_aligner(english, french, score="cos")  # rejected
na.vector_aligner(english, french, temperatur=1.0)  # rejected
na.vector_aligner(english)  # rejected
na.save_embeddings(english, "english", format="word2int")
na.save_embeddings(english, "english", format="gensim")  # rejected
na.save_embeddings(english, "english", force=True)  # rejected

na.learn_attention(PAIRS, "vectors", score="scaled-dot", units=64)
na.learn_attention(PAIRS, "vectors", score="cosine")  # rejected
na.learn_attention(PAIRS, "vectors", unit=64)  # rejected
na.learn_attention(PAIRS, "vectors", units="64")  # rejected

na.links_from(PAIRS, encoder="bert", method="awesome-align")
na.links_from(PAIRS, encodr="bert")  # rejected
na.links_from(PAIRS, encoder="bert", method="awesome")  # rejected
na.links_from(PAIRS, encoder="bert", units="tokens")  # rejected
na.links_from(PAIRS, encoder="bert", layer="8")  # rejected
na.links_from(PAIRS, matrices="m.npz", pieces="bpe", layers=[0, 1])
na.links_from(PAIRS, matrices="m.npz", pieces="wordpiece")  # rejected
na.links_from(PAIRS, matrices="m.npz", layers=0)  # rejected

aligner.align("a", "b")
aligner.align("a", "b", threshold=0.5)  # rejected
aligner.align("a", 5)  # rejected
aligner.align_batch(PAIRS, progress=True)
aligner.align_batch(PAIRS, progess=True)  # rejected
aligner.align_batch(PAIRS, progress=lambda state: print(state.done, state.total))
aligner.align_batch(PAIRS, progress=lambda state: print(state.seconds))  # rejected
aligner.align_batch(PAIRS, progress="yes")  # rejected
aligner.save("folder", overwrite=True)
aligner.save("folder", force=True)  # rejected
aligner.with_scorers(["lexicon"])
aligner.with_scorers(5)  # rejected
aligner.aligne("a", "b")  # rejected

pair.links[0].source
pair.links[0].sorce  # rejected
pair.heatmap(title="A pair", curves=True)
pair.heatmap(titel="A pair")  # rejected
pair.heatmap(curves="yes")  # rejected
pair.save("pair.svg", numbers=True)
pair.save("pair.svg", number=True)  # rejected
batch.table().head()
batch.tables()  # rejected
len(batch[0].links)
batch["first"]  # rejected

na.draw_heatmap(matrix, links=pair.links, title="x")
na.draw_heatmap(matrix, link=pair.links)  # rejected
na.draw_heatmap("matrix")  # rejected
na.write_report("report.html", batch, title="x")
na.write_report("report.html", batch, titel="x")  # rejected
na.write_report(batch, "report.html")  # rejected

na.read_bitext("a.en", "a.fr", encoding="utf-8")
na.read_bitext("a.en", "a.fr", encodin="utf-8")  # rejected
na.read_bitext("a.tsv", format="tsv", select=("en", "fr"))
na.read_bitext("a.tsv", format="excel")  # rejected
na.read_gold("gold.txt", format="naacl")
na.read_gold("gold.txt", format="nacl")  # rejected
na.evaluate(batch, ["0-0"])
na.evaluate(batch, ["0-0"], bootstraps=3)  # rejected
na.evaluate(batch).dense.aer
na.evaluate(batch).aer  # rejected
na.evaluate(batch, ["0-0"], judge=batch)  # rejected
na.evaluate(batch, ["0-0"]).aer
na.evaluate(batch, ["0-0"]).error  # rejected
na.write_links("links.txt", batch)
na.write_links("links.txt", batch, fmt="giza")  # rejected
na.count_embeddings(aligner.lexicon, dimension=64)
na.count_embeddings(aligner.lexicon, dimensions=64)  # rejected
na.resolve_path("en_fr_model")
na.resolve_path(5)  # rejected

na.heatmap([[1.0]], ["a"], ["b"], cmap="viridis", figsize=(3, 2)).savefig("a.png")
na.heatmap(pair)
na.heatmap([[1.0]], ["a"], ["b"], colors="viridis")  # rejected
na.heatmap([[1.0]], figsize=3)  # rejected
pair.heatmap(figsize=(3, 2), cmap="Greys").savefig("a.png")
pair.heatmap(ax=pair.heatmap().axes[0]).set_title("a pair")
pair.heatmap(ax="left")  # rejected
pair.heatmap(colors="Greys")  # rejected
pair.save("a.png", dpi=300)
pair.save("a.png", dpi="300")  # rejected
pair.svg(title="links").upper()
pair.svg(values="forward")  # rejected
batch[:6].heatmap(columns=2, values="forward").savefig("a.png")
batch.heatmap(ax=pair.heatmap().axes[0])  # rejected
next(batch.matrices("forward")).sum()
batch.matrices("foward")  # rejected
aligner.align_batch({"en": ["a"], "fr": ["b"]}, source="en", target="fr").frame_index
aligner.align_batch(PAIRS, source=["en"])  # rejected
na.train({"en": ["a"], "fr": ["b"]}, source="en", targets="fr", target="fr")
na.train(PAIRS, src="en")  # rejected
na.symmetrize(["0-0"], ["0-0"], method="union", reversed=True).links(0)
na.symmetrize(["0-0"], ["0-0"], "union")
na.symmetrize(["0-0"], ["0-0"], method="joined")  # rejected
na.symmetrize(["0-0"])  # rejected
na.convert("a.talp", "a.txt", format="talp", to="pharaoh")
na.convert("a.talp", "a.txt", format="talp", to="conll")  # rejected
na.convert("a.talp", "a.txt", to="pharaoh")  # rejected
na.find(na.open_index("corpus.db"), "cat").head()
na.open_index(5)  # rejected
na.evaluate(batch, ["0-0"]).to_dict()["aer"]
na.vector_aligner({"a": [1.0]}, (["b"], [[1.0]]), score="bahdanau", parameters={"W": [[1.0]]})
na.vector_aligner({"a": [1.0]}, {"b": [1.0]}, parameters=5)  # rejected

linked = [("the cat", "le chat", "0-0 1-1")]
na.project(batch, ["O B-X"], format="bio")
na.project(batch, [["O", "B-X"]], format="bio")[0][1].upper()
na.project(batch, ["O B-X"], format="iob")  # rejected
na.project(batch, ["O B-X"], fmt="bio")  # rejected
na.project(batch, ["O S-X"], format="bioes")[0][1].upper()
na.project(batch, ["the <b>cat</b>"], format="html", split=True)[0].upper()
na.project(batch, ["the <b>cat</b>"], split="yes")  # rejected
na.project(batch, [[(0, 1, "X")]], format="spans")[0][0].label
na.project(batch, [[(0, 1, "X")]], format="bio")  # rejected
na.project(batch, ["the <b>cat</b>"])[0].upper()
na.project(batch, [["the", "cat"]])  # rejected
na.project(batch)  # rejected
na.lexicon(batch, min_links=2, min_probability=0.1).head()
na.lexicon(linked, word="cat").head()
na.lexicon(aligner)
na.lexicon(batch, least=2)  # rejected
na.lexicon(batch, min_probability="high")  # rejected
na.lexicon("model")  # rejected
na.lexicon(pair)  # rejected
na.phrases(batch, longest=5).head()
na.phrases(linked)
na.phrases(batch, max_length=5)  # rejected
na.phrases(batch, longest="5")  # rejected
na.find(batch, "the cat", side="source", translation="le chat", examples=10).head()
na.find("corpus.db", "cat")
na.find(batch, ["the", "cat"])  # rejected
na.find(batch, "cat", side="left")  # rejected
na.find(batch, "cat", context=3)  # rejected
na.find(batch)  # rejected
na.read_dictionary("cedict.u8", encoding="utf-8")["headword"]
na.read_dictionary("cedict.u8", format="cedict")  # rejected
na.train([("a", "b")], prior=["cedict.u8", [("a", "b"), ("c", "d", 2.0)]], headwords="target", lemmas=True)
na.train([("a", "b")], prior=5)  # rejected
na.train([("a", "b")], prior="cedict.u8", headwords="left")  # rejected
na.train([("a", "b")], lemmas="en")  # rejected
