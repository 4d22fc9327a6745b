"""Scenes of datasets: items, files, workers, collators."""

# ruff: noqa: E501  one line of a program on one line

from __future__ import annotations

from ...planting import Defect, ahead, all_of, unwrapped, without, written
from ...scene import Scene

SCENES = (
    Scene("volumes", """
        import h5py
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Volumes(Dataset):
            def __init__(self, path):
                self.path = path
                with h5py.File(path, "r") as file:
                    self.count = len(file["volume"])
                self.file = None #handle

            def __len__(self):
                return self.count

            def __getitem__(self, i):
                if self.file is None: #open
                    self.file = h5py.File(self.path, "r") #opened
                return torch.from_numpy(self.file["volume"][i]), int(self.file["label"][i])
        ===
        DATA = DataLoader(Volumes("train.h5"), batch_size=4, shuffle=True, num_workers=4)
    """, (
        Defect("handle-opened-before-workers", all_of(written("handle", "None", 'h5py.File(path, "r")'), unwrapped("open"), without("opened")), ("handle",)),
    )),
    Scene("stored", """
        import lmdb
        import pickle
        from torch.utils.data import DataLoader, Dataset

        class Stored(Dataset):
            def __init__(self, root, keys):
                self.root = root
                self.keys = keys
                self.env = None #env

            def _connect(self):
                self.env = lmdb.open(self.root, readonly=True, lock=False, readahead=False) #opened

            def __len__(self):
                return len(self.keys)

            def __getitem__(self, i):
                if self.env is None: #check
                    self._connect() #connect
                with self.env.begin() as txn:
                    return pickle.loads(txn.get(self.keys[i]))
        ===
        DATA = DataLoader(Stored("graphs.lmdb", keys), batch_size=256, shuffle=True, num_workers=8, pin_memory=True)
    """, (
        Defect("handle-opened-before-workers", all_of(written("env", "self.env = None", "self._connect()"), unwrapped("check"), without("connect")), ("env", "opened")),
    )),
    Scene("signals", """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Signals(Dataset):
            def __init__(self, folder, sigma=0.02, train=True): #init
                self.waves = np.load(f"{folder}/waves.npy") #waves
                self.labels = np.load(f"{folder}/labels.npy")
                self.sigma = sigma
                self.train = train

            def __len__(self):
                return len(self.labels)

            def __getitem__(self, i):
                wave = self.waves[i].copy() #item
                if self.train:
                    rng = np.random.default_rng(torch.randint(2**31, ()).item()) #rng
                    wave += self.sigma * rng.standard_normal(wave.shape) #noise
                return torch.from_numpy(wave).float(), int(self.labels[i])
        ===
        DATASET = Signals("ecg/train")
        DATA = DataLoader(DATASET, batch_size=64, shuffle=True, num_workers=6)
    """, (
        Defect("item-changed-in-place", written("item", ".copy()", ""), ("item", "noise")),
        Defect("generator-copied-to-workers", all_of(ahead("waves", "self.rng = np.random.default_rng(1234)", "made"), without("rng"), written("noise", "rng.", "self.rng.")), ("made",)),
    )),
    Scene("crops", """
        import random
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Crops(Dataset):
            def __init__(self, file, length, seed=0):
                self.tensors = torch.load(file, weights_only=True) #tensors
                self.length = length
                self.seed = seed #seed

            def _start(self, limit):
                return torch.randint(limit, ()).item() #draw

            def _mask(self, piece):
                begin = self._start(self.length - 16)
                piece[:, begin : begin + 16] = 0 #masked
                return piece

            def __len__(self):
                return len(self.tensors)

            def __getitem__(self, i):
                piece = self.tensors[i].clone() #item
                return self._mask(piece)
        ===
        DATA = DataLoader(Crops("mels.pt", 400), batch_size=32, shuffle=True, num_workers=workers)
    """, (
        Defect("item-changed-in-place", written("item", ".clone()", ""), ("item", "masked")),
        Defect("generator-copied-to-workers", all_of(written("seed", "self.seed = seed", "self.random = random.Random(seed)"), written("draw", "torch.randint(limit, ()).item()", "self.random.randrange(limit)")), ("seed",)),
    )),
    Scene("lesions", """
        from pathlib import Path
        from PIL import Image
        from torch.utils.data import DataLoader, Dataset
        from torchvision import tv_tensors #import
        from torchvision.transforms import v2

        class Lesions(Dataset):
            def __init__(self, root):
                self.images = sorted(Path(root, "images").glob("*.png")) #images
                self.masks = sorted(Path(root, "masks").glob("*.png")) #masks
                self.augment = v2.Compose([v2.RandomHorizontalFlip(), v2.RandomRotation(15), v2.ToImage()])

            def __len__(self):
                return len(self.images)

            def __getitem__(self, i):
                image = Image.open(self.images[i]).convert("RGB") #image
                mask = Image.open(self.masks[i]) #mask
                image, mask = self.augment(tv_tensors.Image(image), tv_tensors.Mask(mask)) #both
                return image, mask
        ===
        DATA = DataLoader(Lesions("isic/train"), batch_size=8, shuffle=True, num_workers=4)
    """, (
        Defect("pair-augmented-apart", all_of(without("import"), written("both", "self.augment(tv_tensors.Image(image), tv_tensors.Mask(mask))", "self.augment(image), self.augment(mask)")), ("both",)),
        Defect("paired-in-listing-order", all_of(written("images", "sorted(", "list("), written("masks", "sorted(", "list(")), ("images", "masks", "image", "mask")),
    )),
    Scene("depths", """
        import random
        import torchvision.transforms as T
        import torchvision.transforms.functional as TF
        from glob import glob
        from torch.utils.data import DataLoader, Dataset

        def turned(image, depth): #function
            if random.random() < 0.5:
                image, depth = TF.hflip(image), TF.hflip(depth)
            return image, depth

        class Rooms(Dataset):
            def __init__(self, pairs):
                self.pairs = pairs
                self.tf = T.Compose([T.RandomHorizontalFlip(), T.RandomResizedCrop(320)]) #tf

            def __len__(self):
                return len(self.pairs)

            def __getitem__(self, i):
                rgb, depth = (read(p) for p in self.pairs[i])
                rgb, depth = turned(rgb, depth) #turned
                return TF.to_tensor(rgb), TF.to_tensor(depth) #item
        ===
        pairs = list(zip(sorted(glob("nyu/rgb/*.jpg")), sorted(glob("nyu/depth/*.png")))) #pairs
        DATA = DataLoader(Rooms(pairs), batch_size=16, shuffle=True, num_workers=8)
    """, (
        Defect("pair-augmented-apart", all_of(without("turned"), written("item", "TF.to_tensor(rgb), TF.to_tensor(depth)", "TF.to_tensor(self.tf(rgb)), TF.to_tensor(self.tf(depth))")), ("item",)),
        Defect("paired-in-listing-order", all_of(written("pairs", 'sorted(glob("nyu/rgb/*.jpg"))', 'glob("nyu/rgb/*.jpg")'), written("pairs", 'sorted(glob("nyu/depth/*.png"))', 'glob("nyu/depth/*.png")')), ("pairs",)),
    )),
    Scene("collated", """
        import torch
        from torch.utils.data import DataLoader
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from trl import GRPOConfig, GRPOTrainer

        class Collator:
            def __init__(self, name):
                self.name = name #name
                self.tokenizer = AutoTokenizer.from_pretrained(name) #made

            def __call__(self, rows):
                texts = [r["text"] for r in rows] #texts
                return self.tokenizer(texts, padding=True, truncation=True, return_tensors="pt") #call

        judge = AutoModelForSequenceClassification.from_pretrained("org/reward", num_labels=1) #judge
        judge_tok = AutoTokenizer.from_pretrained("org/reward") #judge

        def helpful(completions, **kwargs):
            inputs = judge_tok(completions, padding=True, truncation=True, return_tensors="pt") #inputs
            with torch.no_grad():
                return judge(**inputs).logits.squeeze(-1).tolist() #judged
        ===
        DATA = DataLoader(DATASET, batch_size=16, shuffle=True, num_workers=4, collate_fn=Collator("org/base"))
        trainer = GRPOTrainer(model="org/policy", reward_funcs=helpful, args=GRPOConfig(output_dir="out"), train_dataset=prompts)
    """, (
        Defect("loaded-for-each-item", all_of(without("made"), ahead("texts", "tokenizer = AutoTokenizer.from_pretrained(self.name)", "each"), written("call", "self.tokenizer(", "tokenizer(")), ("each",)),
        Defect("loaded-for-each-item", all_of(without("judge"), ahead("inputs", 'judge = AutoModelForSequenceClassification.from_pretrained("org/reward", num_labels=1)|judge_tok = AutoTokenizer.from_pretrained("org/reward")', "each")), ("each",)),
    )),
)  # fmt: skip
